"""Coded products as users start them: from files, and with ranks that are stopped for good or killed."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import galois
import numpy as np
import pytest

from tests.mpi.interpreters import Mpi

LIMIT = 90

# Rank STOPPED[i] stops itself: "map" in the middle of its map, "wait" before it asks for the vectors.
PROGRAM = """
import os, signal, sys
from fractions import Fraction
import numpy as np
from mpi4py import MPI
from coded_mr.linear import coded_map
from coded_mr.linear.exact_product import FieldMatrix

folder, when, how, *ranks = sys.argv[1:]
end = lambda *_, **__: os.kill(os.getpid(), getattr(signal, how))
world = MPI.COMM_WORLD
first = world.rank == 0
A, X = (np.load(f"{folder}/{name}.npy") if first else None for name in "AX")
matrix = FieldMatrix(A, storage=Fraction(1, 2), finishers=world.size - len(ranks), patience=1.0)
if str(world.rank) in ranks:
    if when == "map":
        coded_map.multiply = end
    else:
        end()
for job in range(3):
    product = matrix.multiply(X)
    if first:
        np.save(f"{folder}/Y{job}.npy", product.Y)
absent = matrix.close()
if first:
    print("absent", *absent, flush=True)
matrix.end()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    random = np.random.default_rng(5)
    np.save(tmp_path / "A.npy", random.integers(0, 256, (50, 8), dtype=np.uint8))
    np.save(tmp_path / "X.npy", random.integers(0, 256, (8, 6), dtype=np.uint8))
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


def expected(folder: Path, bits: int = 8) -> np.ndarray:
    field = galois.GF(1 << bits)
    return np.asarray(field(np.load(folder / "A.npy")) @ field(np.load(folder / "X.npy")))


def command(mpi: Mpi, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    line = ["timeout", "-k", "5", str(LIMIT), mpi.python, "-m", "coded_mr", "linear", "matmul", *words]
    return subprocess.run(line, cwd=folder, env={**os.environ}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("when", "ranks"), [("wait", (3,)), ("map", (1,)), ("map", (2, 3))])
def test_stopped_ranks_hold_up_neither_the_products_nor_the_end(
    mpi: Mpi, folder: Path, when: str, ranks: tuple[int, ...]
) -> None:
    words = [mpi.python, "-m", "mpi4py", "program.py", str(folder), when, "SIGSTOP", *map(str, ranks)]
    done = mpi.run(4, words, cwd=folder, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    assert f"absent {' '.join(map(str, ranks))}\n" in done.stdout
    for job in range(3):
        assert (np.load(folder / f"Y{job}.npy") == expected(folder)).all()


def test_a_killed_rank_ends_the_program(mpi: Mpi, folder: Path) -> None:
    words = [mpi.python, "-m", "mpi4py", "program.py", str(folder), "map", "SIGKILL", "2"]
    done = mpi.run(4, words, cwd=folder, timeout=LIMIT)
    assert done.returncode != 0
    assert "absent" not in done.stdout


def test_the_command_writes_the_product_and_leaves_out_the_slow_rank(mpi: Mpi, folder: Path) -> None:
    words = ["A.npy", "X.npy", "-o", "Y.npy", "-n", "4", "--mu", "1/2", "-q", "3", "--slow", "0:3600"]
    done = command(mpi, folder, *words, "--json", "run.json")
    assert done.returncode == 0, done.stderr
    assert (np.load(folder / "Y.npy") == expected(folder)).all()
    report = json.loads((folder / "run.json").read_text())
    assert report["finishers"] == [1, 2, 3]
    assert report["load"]["formula"] == report["load"]["measured"]
    assert "not waited for: 0" in done.stdout


def test_the_command_gives_up_at_its_limit_and_says_who_did_not_answer(mpi: Mpi, folder: Path) -> None:
    words = ["A.npy", "X.npy", "-o", "Y.npy", "-n", "4", "-q", "4", "--slow", "2:3600", "--limit", "0.5"]
    done = command(mpi, folder, *words)
    assert done.returncode == 1, done.stderr
    assert "no answer in 0.5 s from rank 2 on " in done.stderr
    assert not (folder / "Y.npy").exists()


def test_the_command_shares_memory_between_two_numbers_of_finishers(mpi: Mpi, folder: Path) -> None:
    """Half of the paper's first example for q = 2, half for q = 4: D and L are midway."""
    random = np.random.default_rng(6)
    np.save(folder / "A.npy", random.integers(0, 256, (24, 8), dtype=np.uint8))
    np.save(folder / "X.npy", random.integers(0, 256, (8, 4), dtype=np.uint8))
    words = ["A.npy", "X.npy", "-o", "Y.npy", "-n", "4", "-q", "2,4", "--share", "0.5", "--json", "run.json"]
    done = command(mpi, folder, *words)
    assert done.returncode == 0, done.stderr
    assert (np.load(folder / "Y.npy") == expected(folder)).all()
    report = json.loads((folder / "run.json").read_text())
    assert report["load"] == {"formula": "3/2", "measured": "3/2"}
    assert report["latency"]["formula"] == "14/3"
    assert [part["q"] for part in report["parts"]] == [2, 4]
    assert report["latency"]["seconds"] == sum(part["latency"]["seconds"] for part in report["parts"])
    assert "D = 14/3 units" in done.stdout


def test_the_command_joins_the_ranks_of_a_launcher(mpi: Mpi, folder: Path) -> None:
    words = ["linear", "matmul", "A.npy", "X.npy", "-o", "Y.npy", "--bits", "16", "--quiet"]
    done = mpi.run(3, [mpi.python, "-m", "coded_mr", *words], cwd=folder, timeout=LIMIT)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert np.load(folder / "Y.npy").dtype == np.uint16
    assert (np.load(folder / "Y.npy") == expected(folder, 16)).all()


def test_wrong_vectors_end_the_command_and_leave_nothing(mpi: Mpi, folder: Path) -> None:
    np.save(folder / "X.npy", np.zeros((7, 6), dtype=np.uint8))
    done = command(mpi, folder, "A.npy", "X.npy", "-o", "Y.npy", "-n", "3")
    assert done.returncode == 2
    assert "X.npy has the shape (7, 6): (8,) or (8, m)" in done.stderr
    assert not (folder / "Y.npy").exists()
