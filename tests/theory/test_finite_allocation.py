"""Mean completion times of few workers against known answers, exact formulas, and brute force."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from coded_mr.errors import UsageError
from coded_mr.theory.finite_allocation import expected_time, search
from coded_mr.theory.load_allocation import Group, homogeneous, optimal, rounded, uniform

Golden = Callable[[str], Any]


def test_every_known_mean_time(golden: Golden) -> None:
    rows = golden("load_allocation")["finite_n"]
    assert len(rows) == 10
    for row in rows:
        some = [Group(*one) for one in zip(row["N"], row["mu"], row["alpha"], strict=True)]
        assert expected_time(some, row["l"], row["k"]) == pytest.approx(row["ET"], rel=1e-7)
        assert pytest.approx(row["T_star"], rel=1e-9) == optimal(some, row["k"]).T


def order_statistic(N: int, r: int) -> float:
    """Return the mean of the r-th of N exponentials."""
    return sum(1 / (N - i) for i in range(r))


@given(st.integers(1, 40), st.floats(0.01, 100), st.floats(0, 10), st.integers(1, 1000), st.data())
def test_equal_workers_have_mean_order_statistics(
    N: int, mu: float, alpha: float, k: int, data: st.DataObject
) -> None:
    load = data.draw(st.integers(-(-k // N), k))
    time = load / k * (alpha + order_statistic(N, -(-k // load)) / mu)
    assert expected_time([Group(N, mu, alpha)], [load], k) == pytest.approx(time, rel=1e-9)
    assert expected_time([Group(N, mu, alpha)], [load], k, "row") == pytest.approx(time * k, rel=1e-9)


def test_thousands_of_equal_workers() -> None:
    time = 1 / 2100 * (1 + order_statistic(3000, 2100))
    assert expected_time([Group(3000, 1.0, 1.0)], [10 / 21], 1000) == pytest.approx(time, rel=1e-9)


@given(st.integers(1, 5), st.integers(1, 5), st.floats(0.1, 10), st.floats(0, 5), st.integers(1, 20))
def test_a_divided_group_is_the_same_workers(N: int, M: int, mu: float, alpha: float, load: int) -> None:
    k = load * (N + M) - load // 2
    together = expected_time([Group(N + M, mu, alpha)], [load], k)
    divided = expected_time([Group(N, mu, alpha), Group(M, mu, alpha)], [load, load], k)
    assert divided == pytest.approx(together, rel=1e-9)


@given(st.integers(1, 6), st.integers(1, 6), st.floats(0.01, 100), st.floats(0.01, 100))
def test_waiting_for_all_of_two_groups(N: int, M: int, first: float, second: float) -> None:
    """Uncoded: the mean of the slowest, by inclusion and exclusion over who has not finished."""
    some = [Group(N, first, 0.0), Group(M, second, 0.0)]
    k = N + M
    rates = [first * k] * N + [second * k] * M
    slowest = sum(
        -((-1) ** sum(chosen)) / sum(rate for rate, taken in zip(rates, chosen, strict=True) if taken)
        for chosen in product((0, 1), repeat=k)
        if any(chosen)
    )
    assert expected_time(some, uniform(some, k), k) == pytest.approx(slowest, rel=1e-8)


def test_groups_of_very_different_speed() -> None:
    """A thousand times slower workers that are not needed change little; needed ones decide alone."""
    fast, slow = Group(4, 1000.0, 0.001), Group(4, 0.001, 0.001)
    alone = expected_time([fast], [25], 100)
    assert expected_time([fast, slow], [25, 1], 100) <= alone * (1 + 1e-9)
    needed = expected_time([fast, slow], [24, 4], 100)
    assert needed == pytest.approx(0.04 * (0.001 + order_statistic(4, 1) / 0.001), rel=1e-3)


def test_a_group_without_rows_takes_no_part() -> None:
    some = [Group(3, 1.0, 1.0), Group(7, 2.0, 1.0)]
    assert expected_time(some, [40, 0], 100) == expected_time(some[:1], [40], 100)


def test_the_optimum_for_many_workers_is_approached() -> None:
    ratios = []
    for scale in (1, 4, 16):
        some = [Group(4 * scale, 2.0, 1.0), Group(6 * scale, 0.5, 1.0)]
        best = optimal(some, 10**6)
        ratios.append(expected_time(some, best.l, 10**6) / best.T)
    assert abs(ratios[2] - 1) < 0.01
    assert abs(ratios[2] - 1) < abs(ratios[0] - 1)


@hypothesis_settings(max_examples=12)
@given(
    st.tuples(st.integers(1, 3), st.integers(1, 2)),
    st.tuples(st.floats(0.3, 5), st.floats(0.3, 5)),
    st.tuples(st.floats(0.1, 2), st.floats(0.1, 2)),
    st.integers(4, 10),
)
def test_the_search_lies_between_the_best_of_all_loads_and_the_rounded_asymptotic_ones(
    sizes: tuple[int, int], rates: tuple[float, float], shifts: tuple[float, float], k: int
) -> None:
    some = [Group(*one) for one in zip(sizes, rates, shifts, strict=True)]
    every = [
        expected_time(some, loads, k)
        for loads in product(range(k + 1), repeat=2)
        if sum(N * load for N, load in zip(sizes, loads, strict=True)) >= k
    ]
    found = search(some, k)
    assert expected_time(some, found.loads, k) == found.ET
    rounded_time = expected_time(some, rounded(optimal(some, k).l), k)
    assert min(every) * (1 - 1e-9) <= found.ET <= rounded_time


def test_the_search_finds_the_exact_optimum_of_equal_workers() -> None:
    exact = homogeneous(8, Fraction(1), Fraction(1))
    found = search([Group(8, 1.0, 1.0)], 600)
    assert found.loads == (100,)
    assert pytest.approx(float(exact.ET)) == found.ET


def test_the_search_improves_on_the_optimum_for_many_workers() -> None:
    some = [Group(2, 1.0, 1.0), Group(2, 4.0, 1.0)]
    start = expected_time(some, rounded(optimal(some, 1000).l), 1000)
    assert 0.96 * start > search(some, 1000).ET
    assert search(some, 1000, "row").loads == search(some, 1000).loads


def test_without_a_shift_the_search_still_starts() -> None:
    assert search([Group(2, 1.0, 0.0)], 10).loads == (10,)


@pytest.mark.parametrize(
    ("loads", "complaint"),
    [
        ([10], "give one of 0 or more for each of 2 groups"),
        ([10, -1], "give one of 0 or more"),
        ([10, float("inf")], "give one of 0 or more"),
        ([10, 9], "fewer than k = 100 rows together: the job never ends"),
        ([0, 0], "fewer than k = 100 rows together"),
    ],
)
def test_loads_are_checked(loads: list[float], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        expected_time([Group(4, 1.0, 1.0), Group(6, 1.0, 1.0)], loads, 100)


def test_too_many_workers_are_refused() -> None:
    many = [Group(400, 1.0, 1.0), Group(400, 2.0, 1.0), Group(400, 3.0, 1.0)]
    with pytest.raises(UsageError, match="too many workers for the exact mean time"):
        expected_time(many, uniform(many, 100), 100)
    with pytest.raises(UsageError, match="too many workers to search"):
        search(many, 100)
