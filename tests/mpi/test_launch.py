"""Run every file of ranks/ under each MPI and at each world size, one launch a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mpi.checks import run_checks, sizes
from tests.mpi.interpreters import Mpi

FILES = sorted((Path(__file__).parent / "ranks").glob("check_*.py"))


@pytest.mark.parametrize(
    ("path", "n"),
    [pytest.param(path, n, id=f"{path.stem}-{n}") for path in FILES for n in sizes(path)],
)
def test_ranks(mpi: Mpi, path: Path, n: int, tmp_path: Path) -> None:
    result = run_checks(mpi, path, n, tmp_path)
    if result.returncode:
        pytest.fail(f"status {result.returncode}\n{result.stdout}\n{result.stderr}", pytrace=False)
