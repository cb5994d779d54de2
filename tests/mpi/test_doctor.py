"""`coded-mr doctor` on real worlds: healthy ones, and ones with something to find."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.mpi.interpreters import Mpi, candidates, usable

TOP = Path(__file__).parents[2]
WORDCOUNT = str(TOP / "jobs" / "wordcount.py")
# Each rank goes to a folder of its own: what the launchers call a rank.
ASIDE = 'cd "rank${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" && exec "$@"'


def test_it_starts_a_world_of_its_own(mpi: Mpi) -> None:
    done = subprocess.run(
        ["timeout", "-k", "5", "60", mpi.python, "-m", "coded_mr", "doctor", WORDCOUNT, "-n", "3"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    name = {"openmpi": "Open MPI", "mpich": "MPICH"}[mpi.flavour]
    for found in (
        f"{name} started 3 ranks, and MPI's world has as many",
        "3 ranks on 1 host",
        "the job loads, and its files are the same on every rank",
        "MPI makes 128 communicators at once",
        "clocks agree within",
    ):
        assert done.stdout.count(found) == 1, done.stdout


def test_ranks_that_see_different_jobs_are_found(mpi: Mpi, tmp_path: Path) -> None:
    for rank in range(3):
        (tmp_path / f"rank{rank}").mkdir()
        text = Path(WORDCOUNT).read_text() + ("# changed\n" if rank == 2 else "")
        (tmp_path / f"rank{rank}" / "job.py").write_text(text)
    command = ["sh", "-c", ASIDE, "sh", mpi.python, "-m", "coded_mr", "doctor", "job.py"]
    done = mpi.run(3, command, cwd=tmp_path, env={"PYTHONPATH": str(TOP)})
    assert done.returncode != 0
    assert "the job's files differ" in done.stdout
    assert "on rank 2" in done.stdout
    (tmp_path / "rank1" / "job.py").unlink()
    done = mpi.run(3, command, cwd=tmp_path, env={"PYTHONPATH": str(TOP)})
    assert done.returncode != 0
    assert "ERROR    on rank 1: cannot load a job from job.py: there is no such file" in done.stdout


def test_ranks_with_different_scratch_are_all_heard(mpi: Mpi, tmp_path: Path) -> None:
    long = tmp_path / ("x" * 80)
    long.mkdir()
    done = mpi.run(2, ["env", f"TMPDIR={long}", mpi.python, "-m", "coded_mr", "doctor"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"is {len(str(long))} characters long" in done.stdout


def test_a_launcher_of_another_mpi_is_found_and_told_once() -> None:
    known = [found for _, python in candidates() if isinstance(found := usable(python), Mpi)]
    pair = {found.flavour: found for found in known}
    if not {"openmpi", "mpich"} <= pair.keys():
        pytest.skip("needs a Python with Open MPI and one with MPICH: tests/run.sh makes both")
    done = pair["mpich"].run(
        3, [pair["openmpi"].python, "-m", "coded_mr", "doctor"], env={"PATH": os.environ["PATH"]}
    )
    assert done.returncode != 0
    assert done.stdout.count("mpiexec of MPICH announced 3 ranks") == 1, done.stdout
    assert "do not belong together" in done.stdout
