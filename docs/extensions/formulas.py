"""The directive `formula`: a formula, the function that computes it, and an example of both.

```{formula} coded_mr.theory.load.communication_load
:uses: fractions.Fraction
:source: arXiv 1702.07297, Theorem 1

f(r) = \\frac{Q - r}{Q (r + 1)}

>>> print(communication_load(3, 2))
1/9
```
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

__all__ = ["Formula", "FormulaDirective", "setup"]

_ARXIV = re.compile(r"arXiv (\d{4}\.\d{4,5})")


@dataclass(frozen=True)
class Formula:
    """Hold a formula in LaTeX, the full name of its function, and an example in the form of a session.

    uses  full names that the example takes beside the function
    """

    function: str
    latex: str
    example: str
    uses: tuple[str, ...] = ()

    @classmethod
    def read(cls, function: str, uses: str, lines: Sequence[str]) -> Formula:
        """Read the lines of a directive: LaTeX up to the first prompt, then the example."""
        start = next(at for at, line in enumerate(lines) if line.startswith(">>> "))
        latex, example = "\n".join(lines[:start]), "\n".join(lines[start:])
        return cls(function, latex.strip(), example.strip(), tuple(uses.split()))

    @property
    def session(self) -> str:
        """Return the example with what it has to import."""
        imports = dict.fromkeys(_import_of(full) for full in (*self.uses, self.function))
        return "\n".join([*imports, self.example])


def _import_of(full: str) -> str:
    """Return what imports a name, or the class that it is a method of."""
    owner, _, name = full.rpartition(".")
    if owner.rpartition(".")[2][:1].isupper():
        return _import_of(owner)
    return f">>> from {owner} import {name}"


class FormulaDirective(SphinxDirective):
    """Put a formula beside its function."""

    has_content = True
    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {
        "uses": directives.unchanged_required,
        "source": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        """Return the formula, the link, and the example."""
        try:
            formula = Formula.read(self.arguments[0], self.options.get("uses", ""), self.content)
        except StopIteration:
            raise self.error(f"{self.arguments[0]}: the formula has no example") from None
        math = nodes.math_block(formula.latex, formula.latex, nowrap=False, number=None, label=None)
        example = nodes.literal_block(formula.session, formula.session, language="pycon")
        source = _ARXIV.sub(r"[arXiv \1](https://arxiv.org/abs/\1)", self.options.get("source", ""))
        line = f"Computed by {{py:obj}}`{formula.function}`." + (f" Source: {source}." if source else "")
        box = nodes.container("", math, *self.parse_text_to_nodes(line), example, classes=["formula-entry"])
        self.set_source_info(math)
        return [box]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("formula", FormulaDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
