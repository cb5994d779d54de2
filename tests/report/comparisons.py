"""Comparisons to show, made up: no job ran."""

from __future__ import annotations

from fractions import Fraction

from coded_mr.engine.comparison_report import Comparison, Entry, Times
from coded_mr.theory.costs import Costs


def entry(scheme: str, r: Fraction | int, team: tuple[int, int], *totals: float, **fields: object) -> Entry:
    """Return an entry whose rounds took these totals, half of each mapping, a quarter reducing."""
    given = {
        "s": 1,
        "packets": 12,
        "groups": 3,
        "load": Fraction(1, 3),
        "bound": Fraction(1, 3),
        "predicted": Times(1.0, 2.0, 0.5, 3.5),
        "coded_bytes": 400,
        "padding_bytes": 60,
        "header_bytes": 9,
        "wire_bytes": 800,
        "intermediate_bytes": 1000,
        "transport": "groups",
    }
    measured = tuple(Times(total / 2, total / 4, total / 4, total) for total in totals)
    return Entry(scheme, r=Fraction(r), solvers=team[0], helpers=team[1], measured=measured, **given | fields)


def comparison(*entries: Entry, **fields: object) -> Comparison:
    """Return a comparison of entries on five ranks; the planner chose the last unless told."""
    given = {"implementation": "sequential", "choice": len(entries) - 1, "impossible": (), "same": ()}
    return Comparison("words.py (Words)", 3, 5, costs=Costs(1, 2, 1), entries=entries, **given | fields)


def three_plans(**fields: object) -> Comparison:
    """Return an uncoded and two coded plans; the one of the middle is the fastest."""
    return comparison(
        entry("uncoded", 1, (3, 0), 4.0, 5.0, 9.0),
        entry("solver-helper", 1, (3, 2), 2.0, 2.0, 6.0),
        entry("solver-helper", 2, (3, 2), 3.0, 1.0, 2.5, load=Fraction(0), bound=Fraction(0), coded_bytes=0),
        **fields,
    )
