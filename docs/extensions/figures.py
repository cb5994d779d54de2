"""The directives `plan-picture` and `times-picture`: drawn when the site is built.

```{plan-picture} placement
:scheme: solver_helper
:numbers: partitions=3 solvers=3 r=2 helpers=2

The caption.
```

```{times-picture} 1,2,1
:partitions: 16

The caption.
```
"""

from __future__ import annotations

from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from coded_mr.errors import CodedMRError
from coded_mr.plan import Plan, schemes, verify
from coded_mr.report.page_parts import Markup
from coded_mr.theory.allocation import rows, sequential
from coded_mr.theory.costs import Costs
from docs.extensions import pictures

__all__ = ["PlanPicture", "TimesPicture", "planned", "setup"]


def planned(scheme: str, numbers: str) -> Plan:
    """Return the plan of a scheme, "name=number" for each argument; raises PlanError unless it works."""
    arguments = (word.partition("=") for word in numbers.split())
    plan: Plan = getattr(schemes, scheme)(**{name: int(number) for name, _, number in arguments})
    verify(plan)
    return plan


class _Picture(SphinxDirective):
    has_content = True

    def draw(self) -> Markup:
        """Return the picture that the arguments and options ask for."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """Return a figure with its caption."""
        try:
            drawn = self.draw()
        except (CodedMRError, AttributeError, IndexError, TypeError, ValueError) as error:
            raise self.error(f"there is no such picture: {error}") from error
        figure = nodes.figure("", nodes.raw("", drawn, format="html"))
        paragraph, *more = self.parse_content_to_nodes() or [nodes.paragraph()]
        figure += nodes.caption("", "", *paragraph.children)
        figure += more
        return [figure]


class PlanPicture(_Picture):
    """Draw the placement, the packets, or the decoding of one packet of a plan."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {
        "scheme": directives.unchanged_required,
        "numbers": directives.unchanged_required,
        "packet": directives.nonnegative_int,
    }

    def draw(self) -> Markup:
        """Return the picture."""
        plan = planned(self.options["scheme"], self.options["numbers"])
        if self.arguments[0] == "decoding":
            return pictures.decoding(plan, self.options["packet"])
        return {"placement": pictures.placement, "packets": pictures.packets}[self.arguments[0]](plan)


class TimesPicture(_Picture):
    """Draw the times of Theorem 1 over the computation load."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"partitions": directives.positive_int}

    def draw(self) -> Markup:
        """Return the picture."""
        Q, costs = self.options["partitions"], Costs.parse(self.arguments[0])
        return pictures.times(rows(Q, costs, "sequential"), int(sequential(Q, costs).r_star))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    app.add_directive("plan-picture", PlanPicture)
    app.add_directive("times-picture", TimesPicture)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
