"""The load of shuffling at a computation load, and the helpers that this takes."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import UsageError
from coded_mr.theory import communication_load, helpers_needed
from tests.theory.known import Golden, check_table, differences, load


def test_load_meets_every_known_answer(golden: Golden) -> None:
    def check(row: dict[str, Any]) -> list[str]:
        found = {r: communication_load(row["Q"], r) for r in range(row["Q"] + 1)}
        return differences({r: Fraction(value) for r, value in enumerate(row["f"])}, found)

    check_table(golden("allocation")["load_table"], check)


@given(st.integers(1, 9), st.data())
def test_load_is_the_lower_convex_envelope(Q: int, data: st.DataObject) -> None:
    r = data.draw(st.fractions(0, Q, max_denominator=60))
    pairs = [(a, b) for a, b in combinations(range(Q + 1), 2) if a <= r <= b]
    chords = [load(Q, a) + (r - a) * (load(Q, b) - load(Q, a)) / (b - a) for a, b in pairs]
    assert communication_load(Q, r) == min(chords)


@pytest.mark.parametrize(
    ("r", "implementation", "helpers"),
    [
        (0, "sequential", None),
        (0, "parallel", None),
        (1, "sequential", 5),
        (2, "sequential", 3),
        (4, "parallel", 2),
        (5, "sequential", 0),
        (5, "parallel", 0),
        (Fraction(1, 3), "parallel", 15),
        (Fraction(9, 2), "parallel", 1),
    ],
)
def test_helpers_needed_of_five_solvers(r: int | Fraction, implementation: Any, helpers: int | None) -> None:
    assert helpers_needed(5, r, implementation) == helpers


@pytest.mark.parametrize("r", [-1, 4, Fraction(31, 10), 1.5])
def test_a_load_outside_zero_to_q_is_refused(r: Any) -> None:
    with pytest.raises(UsageError, match="computation load r is"):
        communication_load(3, r)
    with pytest.raises(UsageError, match="computation load r is"):
        helpers_needed(3, r, "parallel")
