"""Assignments of arXiv 2001.04005 against known answers, and against what makes them right and optimal.

tests/data/elastic.json was computed by linear programs and by hand, not by this package; "a/b" is exact.
"""

# A Fraction may equal an int, which mypy takes for a comparison that is never true.
# mypy: disable-error-code="comparison-overlap"

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import PlanError, UsageError
from coded_mr.theory.elastic import (
    Assignment,
    Share,
    assign,
    cyclic,
    fill,
    relaxed,
    row_bounds,
    speeds_from_times,
    uncoded,
)

Golden = Callable[[str], Any]
speed = st.fractions(Fraction(1, 20), 20, max_denominator=20) | st.integers(1, 3).map(Fraction)


@st.composite
def steps(draw: st.DrawFn) -> tuple[dict[int, Fraction], int, int]:
    """Draw speeds by machine number, L and a straggler margin."""
    machines = draw(st.lists(st.integers(0, 40), min_size=1, max_size=10, unique=True))
    L = draw(st.integers(1, len(machines)))
    margin = draw(st.integers(0, len(machines) - L))
    return {machine: draw(speed) for machine in machines}, L, margin


def test_every_known_step(golden: Golden) -> None:
    table = golden("elastic")
    assert len(table["examples"]) == 4
    for row in table["examples"] + table["cases"]:
        speeds = {machine: Fraction(s) for machine, s in zip(row["machines"], row["s"], strict=True)}
        mu, c, k_star = relaxed(speeds, row["L"])
        assert [mu[machine] for machine in row["machines"]] == [Fraction(x) for x in row["mu"]]
        assert (c, k_star) == (Fraction(row["c"]), row["k_star"])
        found = assign(speeds, row["L"])
        expected = tuple(
            Share(Fraction(share["alpha"]), tuple(share["machines"])) for share in row["assignment"]
        )
        assert found.shares == expected
        assert len(expected) == row["F"]
        assert row_bounds(found.shares, row["rows"]) == tuple(row["row_bounds"])
        assert (found.mu, found.c) == (mu, c)


@given(steps())
def test_every_row_has_enough_machines_and_nobody_works_longer(
    step: tuple[dict[int, Fraction], int, int],
) -> None:
    speeds, L, margin = step
    found = assign(speeds, L, margin)
    assert sum(share.alpha for share in found.shares) == 1
    assert all(share.alpha > 0 for share in found.shares)
    assert all(len(set(share.machines)) == L + margin for share in found.shares)
    assert len(found.shares) <= len(speeds)
    assert found.margin == margin
    mu, c, _ = relaxed(speeds, L + margin)
    assert (found.mu, found.c) == (mu, c)
    assert all(0 < share <= 1 for share in mu.values())


@given(steps())
def test_no_work_can_be_moved_to_finish_sooner(step: tuple[dict[int, Fraction], int, int]) -> None:
    """A shorter time c would give less than L blocks of work: sum of min(1, c s) is L exactly at c*."""
    speeds, L, _ = step
    mu, c, k_star = relaxed(speeds, L)
    assert sum(mu.values()) == L == sum(min(Fraction(1), c * s) for s in speeds.values())
    shorter = c * Fraction(999_999, 1_000_000)
    assert sum(min(Fraction(1), shorter * s) for s in speeds.values()) < L
    assert max(mu[machine] / s for machine, s in speeds.items()) == c
    assert len(speeds) - L + 1 <= k_star <= len(speeds)
    assert sorted(mu.values())[k_star:] == [1] * (len(speeds) - k_star)


@given(steps())
def test_comparisons_are_never_faster(step: tuple[dict[int, Fraction], int, int]) -> None:
    speeds, L, margin = step
    ring = cyclic(speeds, L, margin)
    assert set(ring.mu.values()) == {Fraction(L + margin, len(speeds))}
    assert all(len(set(share.machines)) == L + margin for share in ring.shares)
    assert ring.c >= assign(speeds, L, margin).c
    assert ring.c == Fraction(L + margin, len(speeds)) / min(speeds.values())
    mu, time = uncoded(speeds, L, {machine: at % L for at, machine in enumerate(sorted(speeds))})
    assert sum(mu.values()) == L
    assert time == max(mu[machine] / s for machine, s in speeds.items()) >= relaxed(speeds, L)[1]


def test_equal_speeds_share_equally() -> None:
    found = assign(dict.fromkeys(range(6), Fraction(1)), 4)
    assert set(found.mu.values()) == {Fraction(2, 3)}
    assert found.c == cyclic(found.speeds, 4).c


@given(steps(), st.integers(1, 500))
def test_rounding_covers_every_row_once_a_share(
    step: tuple[dict[int, Fraction], int, int], rows: int
) -> None:
    speeds, L, margin = step
    found = assign(speeds, L, margin)
    work = found.rows_of(rows)
    computed = [sum(row in span for spans in work.values() for span in spans) for row in range(rows)]
    assert computed == [L + margin] * rows
    for machine, spans in work.items():
        assert all(spans)
        assert abs(sum(map(len, spans)) - found.mu[machine] * rows) < len(found.shares)


@st.composite
def fractions_to_fill(draw: st.DrawFn) -> tuple[dict[int, Fraction], int]:
    """Draw fractions in 0..1, many of them equal, that add up to a whole L."""
    parts = draw(st.integers(1, 12))
    values = [Fraction(draw(st.integers(0, parts)), parts) for _ in range(draw(st.integers(1, 9)))]
    total = sum(values, Fraction(0))
    if total.denominator != 1 or not total:
        values.append(-(-total.numerator // total.denominator) - total or Fraction(1))
    return dict(enumerate(values)), int(sum(values))


@given(fractions_to_fill())
def test_any_fractions_can_be_filled(case: tuple[dict[int, Fraction], int]) -> None:
    mu, L = case
    shares = fill(mu, L)
    assert Assignment({machine: Fraction(1) for machine in mu}, L, shares).mu == mu
    assert sum(share.alpha for share in shares) == 1
    assert all(len(set(share.machines)) == L for share in shares)
    assert len(shares) <= sum(value > 0 for value in mu.values())


def test_a_margin_costs_what_a_larger_L_does() -> None:
    speeds = {machine: Fraction(machine) for machine in range(1, 7)}
    assert assign(speeds, 3, 1).shares == assign(speeds, 4).shares
    assert assign(speeds, 3, 1).c > assign(speeds, 3).c


def test_new_speeds_average_old_and_measured() -> None:
    speeds = {1: Fraction(2), 2: Fraction(3), 3: Fraction(5)}
    work = {1: Fraction(1, 2), 2: Fraction(1), 3: Fraction(0), 4: Fraction(1, 4)}
    found = speeds_from_times(speeds, work, {1: 0.125, 2: 0.5, 3: 7.0, 4: 0.25})
    assert found == {1: 3, 2: Fraction(5, 2), 3: 5, 4: 1}
    assert speeds_from_times(speeds, work, {1: 0.125}, keep=Fraction(0))[1] == 4
    assert speeds_from_times(speeds, work, {1: 0.125}, keep=Fraction(1)) == speeds


@given(st.fractions(Fraction(1, 10**9), 10**9), st.floats(1e-9, 1e9))
def test_estimates_stay_short_and_accurate(work: Fraction, seconds: float) -> None:
    found = speeds_from_times({}, {1: work}, {1: seconds})[1]
    assert float(found) == pytest.approx(float(work) / seconds, rel=1e-8)
    assert len(str(found)) <= 40


def test_repeated_estimates_reach_the_true_speed() -> None:
    speeds = {1: Fraction(1), 2: Fraction(1)}
    for _ in range(40):
        work = assign(speeds, 1).mu
        speeds = speeds_from_times(speeds, work, {1: float(work[1] / 3), 2: float(work[2] / 5)})
    assert [float(value) for value in speeds.values()] == pytest.approx([3, 5], rel=1e-7)


@pytest.mark.parametrize("function", [relaxed, assign, cyclic])
def test_too_few_machines_are_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(PlanError, match="2 machines are available: L = 3 must compute each row"):
        function({1: Fraction(1), 5: Fraction(2)}, 3)
    with pytest.raises(UsageError, match="speed of machine 5 is 0: leave out machines"):
        function({1: Fraction(1), 5: Fraction(0)}, 1)
    with pytest.raises(UsageError, match=r"speed of machine 1 is 0\.5, not an exact number"):
        function({1: 0.5}, 1)
    with pytest.raises(UsageError, match="number of results L that decode a row is 0"):
        function({1: Fraction(1)}, 0)


@pytest.mark.parametrize("function", [assign, cyclic])
def test_a_margin_needs_its_machines(function: Callable[..., Any]) -> None:
    with pytest.raises(PlanError, match="L = 2 must compute each row and S = 1 more may fail"):
        function({1: Fraction(1), 2: Fraction(1)}, 2, 1)
    with pytest.raises(UsageError, match="straggler margin S is -1"):
        function({1: Fraction(1), 2: Fraction(1)}, 2, -1)


def test_requests_are_checked() -> None:
    with pytest.raises(PlanError, match=r"the blocks \[1\] are lost"):
        uncoded({1: Fraction(1), 3: Fraction(1)}, 2, {1: 0, 2: 1, 3: 0})
    with pytest.raises(UsageError, match=r"must lie in 0\.\.1 and add up to L = 2"):
        fill({1: Fraction(1), 2: Fraction(1, 2)}, 2)
    with pytest.raises(UsageError, match=r"must lie in 0\.\.1"):
        fill({1: Fraction(3, 2), 2: Fraction(1, 2)}, 2)
    with pytest.raises(UsageError, match="number of rows of a block is 0"):
        row_bounds((Share(Fraction(1), (1,)),), 0)
    with pytest.raises(UsageError, match="machine 1 took 0 seconds"):
        speeds_from_times({1: Fraction(1)}, {1: Fraction(1)}, {1: 0})
    with pytest.raises(UsageError, match="weight of the old speeds is 2"):
        speeds_from_times({1: Fraction(1)}, {1: Fraction(1)}, {1: 1.0}, keep=Fraction(2))
