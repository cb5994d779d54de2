"""The harness: a failure on any rank, and a hang, become the text of the failing test."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.mpi.checks import blamed, run_checks, sizes
from tests.mpi.interpreters import Mpi

HEAD = """\
import pytest
from mpi4py import MPI

pytestmark = pytest.mark.mpi
"""


def check_file(folder: Path, body: str, name: str = "check_made_up.py") -> Path:
    shutil.copy(Path(__file__).parent / "ranks" / "conftest.py", folder)
    path = folder / name
    path.write_text(HEAD + body, encoding="utf-8")
    return path


def test_failure_of_one_rank_is_reported_once_and_its_file_blamed(mpi: Mpi, tmp_path: Path) -> None:
    body = "def test_two():\n    assert MPI.COMM_WORLD.rank != 2, 'seen'\n    MPI.COMM_WORLD.Barrier()\n"
    fine = check_file(tmp_path, "def test_fine():\n    MPI.COMM_WORLD.Barrier()\n", "check_fine.py")
    paths = [fine, check_file(tmp_path, body)]
    result = run_checks(mpi, paths, 3, tmp_path)
    assert result.returncode == 1
    assert blamed(result.stdout, paths) == paths[1:]
    assert blamed("", paths) == paths
    assert "AssertionError: seen" in result.stdout
    assert result.stdout.count("1 failed") == 1
    assert result.stdout.count("rank 2 of 3") == 1
    assert "rank 1 of 3" not in result.stdout


def test_silence_of_the_other_ranks(mpi: Mpi, tmp_path: Path) -> None:
    body = "def test_fine():\n    MPI.COMM_WORLD.Barrier()\n"
    result = run_checks(mpi, [check_file(tmp_path, body)], 3, tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("1 passed") == 1


def test_hang_is_shown_and_ended(mpi: Mpi, tmp_path: Path) -> None:
    body = "def test_stuck():\n    if MPI.COMM_WORLD.rank == 0:\n        MPI.COMM_WORLD.recv(source=1)\n"
    paths = [check_file(tmp_path, body), tmp_path / "check_other.py"]
    result = run_checks(mpi, paths[:1], 2, tmp_path, stuck=2)
    assert result.returncode != 0
    assert "in test_stuck" in result.stderr
    assert blamed(result.stderr, paths) == paths[:1]


def test_unknown_marker_is_refused(mpi: Mpi, tmp_path: Path) -> None:
    body = "@pytest.mark.no_such_marker\ndef test_marked():\n    pass\n"
    result = run_checks(mpi, [check_file(tmp_path, body)], 1, tmp_path)
    assert result.returncode != 0
    assert "no_such_marker" in result.stdout + result.stderr


@pytest.mark.parametrize(
    ("text", "expected"), [("SIZES = (2, 5)\n", (2, 5)), ("", (1, 2, 3, 4)), ("SIZES = [3]\n", (3,))]
)
def test_sizes_are_read_without_import(tmp_path: Path, text: str, expected: tuple[int, ...]) -> None:
    path = tmp_path / "check_sizes.py"
    path.write_text(f"{text}raise SystemExit\n", encoding="utf-8")
    assert sizes(path) == expected
