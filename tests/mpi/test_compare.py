"""`coded-mr compare` as users type it: alone and under mpirun, well and badly ended."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.mpi.interpreters import Mpi

TOP = Path(__file__).parents[2]
WORDCOUNT = str(TOP / "jobs" / "wordcount.py")
LIMIT = 60

# Its output is the number of splits, which differs from plan to plan.
SPLITS = """
from coded_mr import Job


class Splits(Job):
    def map(self, file):
        file.read()
        yield "splits", 1

    def reduce(self, key, values):
        yield key, sum(values)
"""

FAILING = """
from coded_mr import Job


class Failing(Job):
    def map(self, file):
        yield from ((word, 1) for line in file.lines() for word in line.split())

    def reduce(self, key, values):
        raise KeyError("trouble in reduce")
"""


def alone(mpi: Mpi, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command without a launcher: it starts MPI itself, and its temporary directory is ours."""
    command = ["timeout", "-k", "5", str(LIMIT), mpi.python, "-m", "coded_mr", "compare", *words]
    return subprocess.run(command, cwd=cwd, env=environment(cwd), capture_output=True, text=True, check=False)


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "MPLCONFIGDIR": str(folder / "matplotlib")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "scratch").mkdir()
    (tmp_path / "matplotlib").mkdir()
    (tmp_path / "in" / "a.txt").write_text("the quick brown fox\njumps over the lazy dog\n" * 100)
    return tmp_path


def nothing_left(folder: Path, *made: str) -> None:
    assert sorted(path.name for path in folder.iterdir()) == sorted(["in", "matplotlib", "scratch", *made])
    assert list((folder / "scratch").iterdir()) == []


def test_it_starts_mpi_itself_and_shows_predicted_and_measured(mpi: Mpi, folder: Path) -> None:
    words = [WORDCOUNT, "in", "-n", "5", "-p", "3", "--schemes", "solver-helper,uncoded", "--r", "1,2"]
    words += ["--rounds", "2", "--costs", "1,2,1", "--scratch", "scratch", "--json", "found.json"]
    done = alone(mpi, *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads((folder / "found.json").read_text())
    plans = [(plan["scheme"], plan["r"], plan["solvers"], plan["helpers"]) for plan in found["plans"]]
    assert plans == [("uncoded", "1", 3, 0), ("solver-helper", "1", 3, 2), ("solver-helper", "2", 3, 2)]
    assert found["planner"] == 2
    assert {len(plan["rounds"]) for plan in found["plans"]} == {2}
    assert found["plans"][2]["load"] == "1/9"
    assert found["plans"][2]["predicted"]["total"] == pytest.approx(17 / 9)
    assert done.stdout.count("\n* ") == 2
    assert "planner    chooses solver-helper r=2 (3+2)" in done.stdout
    nothing_left(folder, "found.json")


def test_it_joins_the_ranks_of_a_launcher_and_leaves_no_mark(mpi: Mpi, folder: Path) -> None:
    words = ["compare", WORDCOUNT, "in", "--r", "1", "--rounds", "1", "--costs", "1,2,1", "--json", "-"]
    command = ["env", "-u", "CODED_MR_JOB_ID", mpi.python, "-m", "coded_mr", *words, "--scratch", "scratch"]
    done = mpi.run(3, command, cwd=folder, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ranks"] == 3
    nothing_left(folder)


def test_a_picture_is_drawn(mpi: Mpi, folder: Path) -> None:
    probe = subprocess.run([mpi.python, "-c", "import matplotlib"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip("matplotlib, the extra report, is not installed beside this MPI")
    words = [WORDCOUNT, "in", "-n", "3", "--schemes", "uncoded", "--rounds", "1", "--costs", "1,2,1", "-q"]
    done = alone(mpi, *words, "--plot", "times.png", "--scratch", "scratch", cwd=folder)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert (folder / "times.png").read_bytes().startswith(b"\x89PNG")
    nothing_left(folder, "times.png")


@pytest.mark.parametrize(
    ("job", "status", "messages"),
    [
        (SPLITS, 1, ["uncoded r=1 (3+0) and solver-helper r=2 (3+2) differ in part-0000", "two plans gave"]),
        (FAILING, 1, ["KeyError: 'trouble in reduce'", "reduce of key"]),
    ],
)
def test_a_failure_explains_itself_and_leaves_nothing(
    mpi: Mpi, folder: Path, job: str, status: int, messages: list[str]
) -> None:
    (folder / "in" / "job.py").write_text(job)
    words = ["in/job.py", "in/a.txt", "-n", "5", "-p", "3", "--schemes", "uncoded,solver-helper", "--r", "2"]
    done = alone(mpi, *words, "--costs", "1,2,1", "--scratch", "scratch", cwd=folder)
    assert done.returncode == status, done.stderr
    for message in messages:
        assert message in done.stderr
    nothing_left(folder)


def test_nothing_possible_is_an_error(mpi: Mpi, folder: Path) -> None:
    words = [WORDCOUNT, "in", "-n", "3", "--schemes", "resolvable", "--r", "2", "--costs", "1,2,1"]
    done = alone(mpi, *words, "--scratch", "scratch", cwd=folder)
    assert done.returncode == 1
    assert "allow none of resolvable r=2" in done.stderr
    nothing_left(folder)
