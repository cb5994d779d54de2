"""What the tests of the optimal allocation compare with: known answers, the paper's load, drawn costs.

tests/data/allocation.json was computed by enumeration and linear programs, not by this package;
"a/b" is exact, plain numbers in its table "approx" are floats.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from coded_mr.theory import Costs

__all__ = ["Golden", "check_table", "costs", "differences", "functions", "load", "positive", "row_costs"]

Golden = Callable[[str], Any]
positive = st.fractions(min_value=Fraction(1, 1000), max_value=1000, max_denominator=1000)
small = st.sampled_from([Fraction(a, b) for a in range(1, 9) for b in range(1, 5)])
costs = st.builds(Costs, positive | small, positive | small, positive | st.just(Fraction(0)))
functions = st.integers(1, 40)


def row_costs(row: dict[str, Any]) -> Costs:
    """Return the costs of a row of known answers."""
    return Costs(Fraction(row["c_m"]), Fraction(row["c_s"]), Fraction(row["c_r"]))


def differences(expected: dict[Any, Any], found: dict[Any, Any]) -> list[str]:
    """Say which named values differ."""
    return [f"{key}: {found[key]} is not {expected[key]}" for key in expected if found[key] != expected[key]]


def check_table(table: list[dict[str, Any]], check: Callable[[dict[str, Any]], list[str]]) -> None:
    """Fail with every row of a table that `check` finds wrong."""
    assert table
    wrong = {f"row {number}, {row}": faults for number, row in enumerate(table) if (faults := check(row))}
    assert not wrong, "\n".join(f"{row}: {faults}" for row, faults in wrong.items())


def load(Q: int, r: int) -> Fraction:
    """Return the load of the paper at a whole computation load."""
    return Fraction(Q - r, Q * (r + 1))
