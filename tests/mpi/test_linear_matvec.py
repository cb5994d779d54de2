"""`linear matvec` and `linear elastic` on .npy files, under mpirun."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.mpi.interpreters import Mpi

RUN = "import sys; from coded_mr.cli.linear_{} import main; sys.exit(main(sys.argv[1:]))"


@pytest.fixture
def arrays(tmp_path: Path) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    A, X = random.standard_normal((70, 6)), random.standard_normal((6, 5))
    np.save(tmp_path / "A.npy", A)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "x.npy", X[:, 0])
    return A, X


def linear(mpi: Mpi, n: int, name: str, *words: str, cwd: Path) -> str:
    """Run a subcommand on ranks that a launcher started and return what it printed."""
    result = mpi.run(n, [mpi.python, "-c", RUN.format(name), *words], cwd=cwd, timeout=60)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_matvec_by_columns_with_delays(mpi: Mpi, tmp_path: Path, arrays: tuple[Any, Any]) -> None:
    A, X = arrays
    words = ["--groups", "1:4:0.2,3:1:0.5", "--rule", "optimal", "--each", "--delay", "0.01", "--json", "j"]
    printed = linear(mpi, 5, "matvec", "A.npy", "X.npy", "-o", "Y.npy", *words, cwd=tmp_path)
    found = json.loads((tmp_path / "j").read_text())
    assert (found["rule"], found["k"], len(found["products"])) == ("optimal", 70, 5)
    assert found["loads"][0] > found["loads"][1] == found["loads"][3]
    assert np.abs(np.load(tmp_path / "Y.npy") - A @ X).max() <= found["bound"] < 1e-6
    assert [line.split()[0] for line in printed.splitlines()] == ["result", "code", "accuracy", "seconds"]


def test_matvec_of_one_vector(mpi: Mpi, tmp_path: Path, arrays: tuple[Any, Any]) -> None:
    A, X = arrays
    assert linear(mpi, 3, "matvec", "A.npy", "x.npy", "-o", "y.npy", "-q", cwd=tmp_path) == ""
    assert np.allclose(np.load(tmp_path / "y.npy"), A @ X[:, 0], rtol=0, atol=1e-10)


def test_elastic_by_a_trace_file(mpi: Mpi, tmp_path: Path, arrays: tuple[Any, Any]) -> None:
    A, X = arrays
    (tmp_path / "trace").write_text("1 2 3 4\n1\n2 4\n1 3 4\n")
    words = ["--trace", "trace", "--on-infeasible", "skip", "--json", "j"]
    printed = linear(mpi, 5, "elastic", "A.npy", "X.npy", "-o", "Y.npy", *words, cwd=tmp_path)
    found = json.loads((tmp_path / "j").read_text())
    assert found["skipped"] == 2
    assert [step["available"] for step in found["steps"]] == [
        [1, 2, 3, 4],
        [2, 4],
        [1, 3, 4],
        [1, 2, 3, 4],
        [2, 4],
    ]
    assert all(sum(step["rows"].values()) == 70 for step in found["steps"])
    assert np.abs(np.load(tmp_path / "Y.npy") - A @ X).max() <= found["bound"] < 1e-9
    assert "2 skipped" in printed
