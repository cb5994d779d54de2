"""The directive `modules`: what the modules of packages offer, from their docstrings.

    .. modules:: coded_mr.theory coded_mr.topology

takes each named module and all below it, and of each what it defines itself and names in `__all__`. Nothing
that needs an MPI is run: a site can be built on a machine without one.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.ext.autodoc.mock import mock
from sphinx.util.docutils import SphinxDirective

__all__ = ["Modules", "offers", "setup"]


def offers(name: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of a module, and of each below it, with the names that it offers."""
    module = importlib.import_module(name)
    listed = getattr(module, "__all__", ())
    yield name, [word for word in listed if getattr(getattr(module, word), "__module__", name) == name]
    for below in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if not below.name.startswith("_"):
            yield from offers(f"{name}.{below.name}")


class Modules(SphinxDirective):
    """Document modules, one section each."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        with mock(self.config.autodoc_mock_imports):
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
