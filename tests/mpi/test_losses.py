"""Ranks that die in coded products: the others go on where the MPI can carry it, and say why where not."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations, cycle, pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.mpi.interpreters import Mpi

PROGRAM = Path(__file__).parent / "survivors.py"
LIMIT = 90

MOMENTS = ("map", "shuffle", "delivery", "matvec", "elastic")
# Each moment with 4 ranks, and every subset of a third of 6 ranks; rank 0 leads and cannot be missed.
DEATHS = [
    *((4, moment, (rank,)) for moment, rank in zip(MOMENTS, cycle((1, 2, 3)), strict=False)),
    *((6, moment, pair) for pair, moment in zip(combinations(range(1, 6), 2), cycle(MOMENTS), strict=False)),
]


def survivors(mpi: Mpi, n: int, moment: str, spare: int, ranks: tuple[int, ...]) -> tuple[int, str, str]:
    if not mpi.launcher.survives:
        pytest.skip(f"{mpi.flavour} {mpi.launcher.version} ends all ranks when one dies: needs Open MPI 5")
    words = [mpi.python, "-m", "mpi4py", str(PROGRAM), moment, str(spare), *map(str, ranks)]
    top = str(PROGRAM.parents[2])
    done = mpi.run(n, words, timeout=LIMIT, env={"PYTHONPATH": top}, survive=True)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(("n", "moment", "ranks"), DEATHS)
def test_products_are_right_whoever_dies(mpi: Mpi, n: int, moment: str, ranks: tuple[int, ...]) -> None:
    status, out, err = survivors(mpi, n, moment, len(ranks), ranks)
    assert (status, out) == (0, f"absent {' '.join(map(str, ranks))}\n"), err
    for rank in ranks:
        assert re.search(rf"rank {rank} on \S+( died|,)", err), err


@pytest.mark.parametrize(
    ("moment", "rank", "message"),
    [
        ("map", 1, "3 of 4 servers are left, and this matrix is stored for q = 4"),
        ("shuffle", 2, "3 of 4 servers are left"),
        ("matvec", 3, "are needed"),
        ("elastic", 1, "2 machines are available"),
        ("map", 0, "rank 0 leads"),
        ("places", 2, "nothing was stored yet: run again"),
        ("storing", 2, "the matrix was not yet stored: run again"),
    ],
)
def test_more_deaths_than_the_code_carries_are_refused(
    mpi: Mpi, moment: str, rank: int, message: str
) -> None:
    status, out, err = survivors(mpi, 4, moment, 0, (rank,))
    assert status != 0
    assert "absent" not in out
    assert f"rank {rank} on " in err or moment == "places"
    assert message in err
    assert "please report" not in err


@contextmanager
def elastic(mpi: Mpi, folder: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], dict[int, int]]]:
    """Run `linear elastic --signals` on 4 ranks; hand out the command and the processes of the machines."""
    random = np.random.default_rng(0)
    np.save(folder / "X.npy", random.standard_normal((60, 6)))
    np.save(folder / "W.npy", random.standard_normal((6, 1500)))
    line = [mpi.python, "-m", "coded_mr", "linear", "elastic", "X.npy", "W.npy", "-o", "Y.npy", "-n", "4"]
    with subprocess.Popen(
        ["timeout", "-k", "5", str(LIMIT), *line, "--signals", "--json", "run.json", *words],
        cwd=folder,
        env={**os.environ},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        yield process, {int(m): int(pid) for m, pid in re.findall(r"machine (\d+): process (\d+)", said)}


def test_machines_leave_and_return_by_signal_and_one_is_killed(mpi: Mpi, tmp_path: Path) -> None:
    with elastic(mpi, tmp_path) as (process, pids):
        assert sorted(pids) == [1, 2, 3]
        for number, wait in ((signal.SIGUSR1, 0.3), (signal.SIGUSR2, 0.3)):
            os.kill(pids[1], number)
            time.sleep(wait)
        if mpi.launcher.survives:
            os.kill(pids[2], signal.SIGKILL)
        out, err = process.communicate()
    assert process.returncode == 0, err
    X, W = np.load(tmp_path / "X.npy"), np.load(tmp_path / "W.npy")
    found = json.loads((tmp_path / "run.json").read_text())
    assert np.abs(np.load(tmp_path / "Y.npy") - X @ W).max() <= found["bound"] < 1e-9
    seen = [tuple(step["available"]) for step in found["steps"]]
    orders = [seen[0], *(after for before, after in pairwise(seen) if before != after)]
    expected = [(1, 2, 3), (2, 3), (1, 2, 3), (1, 3)]
    if not mpi.launcher.survives:
        expected.pop()
    assert orders == expected or orders == expected[1:]
    assert found["dead"] == ([2] if mpi.launcher.survives else [])
    assert "steps     1500 made" in out


def test_a_death_that_this_mpi_cannot_carry_is_explained(mpi: Mpi, tmp_path: Path) -> None:
    if mpi.launcher.survives:
        pytest.skip(f"{mpi.flavour} {mpi.launcher.version} can carry a death")
    with elastic(mpi, tmp_path) as (process, pids):
        os.kill(pids[2], signal.SIGKILL)
        out, err = process.communicate()
    assert process.returncode not in (0, None)
    assert "takes Open MPI 5 or later" in err
    # MPICH may name the rank that died, or a process that it then ended.
    assert re.search(r"(?i)rank 2\b|PID \d+ running at", out + err), out + err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["W.npy", "X.npy"]
