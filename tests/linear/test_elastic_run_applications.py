"""PageRank and regression reach the answers of a direct solution; the import graph is the sources'."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from coded_mr.errors import InputError, UsageError
from coded_mr.linear.applications import largest_eigenvalue, linear_regression, pagerank
from coded_mr.linear.import_graph import import_graph, link_matrix


def test_pagerank_is_the_solution_of_its_equations() -> None:
    """Rank the modules of the library's json and solve the same as a linear system."""
    graph = import_graph(str(Path(json.__file__).parent.parent), skipped=skipped_but("json"))
    M = link_matrix(graph)
    dangling = M.sum(axis=0) == 0
    n = len(graph)
    found = pagerank(lambda x: M @ x, dangling)
    direct = np.linalg.solve(np.eye(n) - 0.85 * (M + dangling / n), np.full(n, 0.15 / n))
    assert found.reached(1e-12)
    assert np.abs(found.value - direct).sum() < 1e-10


def skipped_but(package: str) -> list[str]:
    top = Path(json.__file__).parent.parent
    return [path.name for path in top.iterdir() if path.name != package]


def test_import_graph_of_a_package(tmp_path: Path) -> None:
    package = tmp_path / "pack"
    (package / "deep").mkdir(parents=True)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "no_module.py").write_text("syntax error")
    (tmp_path / "alone.py").write_text("import pack.one, os\n")
    (package / "__init__.py").write_text("from . import one\n")
    (package / "one.py").write_text("def f():\n    from .two import name\n")
    (package / "two.py").write_text("from pack.deep import inner\nimport pack.two\n")
    (package / "deep" / "__init__.py").write_text("from ..one import f\n")
    (package / "deep" / "inner.py").write_text("from .. import f\nfrom . import missing\n")
    assert import_graph(str(tmp_path)) == {
        "alone": {"pack.one"},
        "pack": {"pack.one"},
        "pack.deep": {"pack.one"},
        "pack.deep.inner": {"pack", "pack.deep"},
        "pack.one": {"pack.two"},
        "pack.two": {"pack.deep.inner"},
    }


def test_wrong_sources_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no Python module"):
        import_graph(str(tmp_path))
    (tmp_path / "broken.py").write_text("def")
    with pytest.raises(InputError, match=r"broken\.py as Python"):
        import_graph(str(tmp_path))


def test_links_share_one_among_what_a_node_points_to() -> None:
    graph = {"a": frozenset("bc"), "b": frozenset("c"), "c": frozenset()}
    assert link_matrix(graph).tolist() == [[0, 0, 0], [0.5, 0, 0], [0.5, 1, 0]]


def test_largest_eigenvalue_of_a_known_matrix() -> None:
    S = np.diag([1.0, 5.0, 3.0])
    found = largest_eigenvalue(lambda x: S @ x, 3, tolerance=1e-12)
    assert abs(found.value @ S @ found.value - 5) < 1e-9


def test_regression_reaches_least_squares() -> None:
    random = np.random.default_rng(0)
    X, y = random.standard_normal((50, 6)), random.standard_normal(50)
    found = linear_regression(lambda w: X @ w, lambda r: X.T @ r, y)
    assert found.reached(1e-10)
    assert np.allclose(found.value, np.linalg.lstsq(X, y, rcond=None)[0], rtol=0, atol=1e-9)


def test_regression_of_nothing_is_nothing() -> None:
    found = linear_regression(lambda w: np.zeros(3) * w[0], lambda r: np.zeros(2), np.zeros(3))
    assert found.steps == 0
    assert found.value.tolist() == [0, 0]


def test_steps_that_run_out_say_so() -> None:
    found = pagerank(lambda x: x[::-1] * [1, 0.5], [False, True], most=2)
    assert found.steps == 2
    assert not found.reached(1e-12)


@pytest.mark.parametrize("damping", [-0.1, 1.0, float("nan")])
def test_wrong_damping_is_refused(damping: float) -> None:
    with pytest.raises(UsageError, match="damping"):
        pagerank(lambda x: x, [False], damping=damping)
