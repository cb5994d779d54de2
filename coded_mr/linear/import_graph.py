"""The graph of which module imports which, read from Python sources: a real graph to rank."""

from __future__ import annotations

import ast
import sysconfig
import warnings
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coded_mr.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Reals = npt.NDArray[np.floating[Any]]

__all__ = ["STANDARD_SKIPPED", "import_graph", "link_matrix", "standard_library"]

STANDARD_SKIPPED = ("site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3", "turtledemo")
"""What is not the library itself: tests, applications, and what others have installed."""


def standard_library() -> dict[str, frozenset[str]]:
    """Return which modules of this Python's own standard library import which; takes some seconds."""
    return import_graph(sysconfig.get_path("stdlib"), skipped=STANDARD_SKIPPED)


def import_graph(root: str, *, skipped: Collection[str] = ()) -> dict[str, frozenset[str]]:
    """Return, for each module in or below a directory, the others there that it imports anywhere.

    Directories are packages when they hold an __init__.py; those named in `skipped` are left out. Modules
    come in the order of their names. Raises InputError when there are none, or one is not Python.
    """
    paths = dict(sorted(_modules(Path(root), "", skipped)))
    if not paths:
        raise InputError(f"there is no Python module in {root}")
    return {
        name: frozenset(
            found
            for wanted in _imports(name, path)
            if (found := _known(wanted, paths)) is not None and found != name
        )
        for name, path in paths.items()
    }


def link_matrix(graph: dict[str, frozenset[str]]) -> Reals:
    """Return the matrix (n, n) in which column i spreads 1 evenly over what node i points to.

    Rows and columns are in the order of the graph. A node that points nowhere has a column of zeros.
    """
    import numpy as np

    place = {name: at for at, name in enumerate(graph)}
    links = np.zeros((len(place), len(place)))
    for name, targets in graph.items():
        for target in targets:
            links[place[target], place[name]] = 1 / len(targets)
    return links


def _modules(folder: Path, prefix: str, skipped: Collection[str]) -> Iterator[tuple[str, Path]]:
    for path in folder.iterdir():
        if path.name in skipped:
            continue
        if path.suffix == ".py" and path.stem.isidentifier():
            name = prefix[:-1] if path.stem == "__init__" else prefix + path.stem
            if name:
                yield name, path
        elif (path / "__init__.py").is_file():
            yield from _modules(path, f"{prefix}{path.name}.", skipped)


def _imports(name: str, path: Path) -> Iterator[str]:
    """Yield what a module imports, absolute; `from a import b` gives a.b, which may be less than a module."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a compiler thinks of others' escapes
            tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError) as error:
        raise InputError(f"cannot read {path} as Python: {error}; leave its directory out") from error
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = ""
            if node.level:
                parts = name.split(".")
                own = len(parts) + (path.name == "__init__.py")
                above = "".join(f"{part}." for part in parts[: own - node.level])
            base = above + (node.module or "")
            yield from (f"{base.rstrip('.')}.{alias.name}" for alias in node.names)


def _known(wanted: str, paths: Collection[str]) -> str | None:
    """Return the longest beginning of a dotted name that is a module."""
    while wanted and wanted not in paths:
        wanted = wanted.rpartition(".")[0]
    return wanted or None
