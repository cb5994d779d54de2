"""The directive `modules`: what the modules of packages offer, from their docstrings.

    .. modules:: coded_mr.theory coded_mr.topology

takes each named module and all below it, and of each what it defines itself and names in `__all__`.
"""

from __future__ import annotations

import ast
import pkgutil
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

__all__ = ["Modules", "offers", "setup"]


def offers(name: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of a module, and of each below it, with the names that it offers.

    The source is read, not run: some modules need an MPI to be imported.
    """
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ImportError(f"there is no module {name}")
    yield name, list(_defined(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))))
    for below in pkgutil.iter_modules(spec.submodule_search_locations or ()):
        if not below.name.startswith("_"):
            yield from offers(f"{name}.{below.name}")


def _defined(tree: ast.Module) -> Iterator[str]:
    """Yield the classes, the functions and the explained constants that a module defines and offers."""
    offered: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and _targets(node) == ["__all__"]:
            offered = set(ast.literal_eval(node.value))
    for node, following in pairwise([*tree.body, ast.Pass()]):
        explained = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            names = [node.name]
        else:
            names = _targets(node) if explained else []
        yield from (name for name in names if name in offered)


def _targets(node: ast.stmt) -> list[str]:
    """Return the names that a statement assigns to."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


class Modules(SphinxDirective):
    """Document modules, one section each."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        found = [entry for name in self.arguments[0].split() for entry in offers(name)]
        text = "\n".join(_section(*entry) for entry in found)
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def _section(name: str, offered: list[str]) -> str:
    members = f"   :members: {', '.join(offered)}\n" if offered else ""
    return f"{name}\n{'-' * len(name)}\n\n.. automodule:: {name}\n{members}"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("modules", Modules)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
