"""Formulas as MathML, which browsers draw by themselves: no script, no network, no LaTeX."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.writers.html5 import HTML5Translator

__all__ = ["mathml", "setup"]


def mathml(latex: str, *, display: bool = False) -> str:
    """Return a formula as a `math` element; raises ExtensionError for what is no formula."""
    try:
        drawn: str = convert(latex, display="block" if display else "inline")
    except Exception as error:  # the converter has a tree of its own, and lets others through
        raise ExtensionError(f"the formula {latex!r} cannot be drawn: {error!r}") from error
    if "\\" in drawn:
        raise ExtensionError(f"the formula {latex!r} has a command that MathML does not know")
    return drawn


def _inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def _block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{mathml(node.astext(), display=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
