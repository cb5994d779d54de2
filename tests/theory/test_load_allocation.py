"""The optimal loads of arXiv 1904.09496 against known answers, and against what they are optimal in.

tests/data/load_allocation.json was computed with Lambert's W, enumeration and integration, not by this
package; "a/b" is exact, numbers are floats to be met within 1e-9.
"""

# A Fraction may equal an int, which mypy takes for a comparison that is never true.
# mypy: disable-error-code="comparison-overlap"

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import comb, exp, factorial, log1p
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import UsageError
from coded_mr.theory.load_allocation import Group, excess_root, homogeneous, optimal, rounded, uniform

Golden = Callable[[str], Any]
positive = st.floats(1e-6, 1e6)
groups = st.lists(st.builds(Group, st.integers(1, 5000), positive, positive), min_size=1, max_size=4)


def row_groups(row: dict[str, Any]) -> list[Group]:
    """Return the groups of a row of known answers."""
    return [Group(*one) for one in zip(row["N"], row["mu"], row["alpha"], strict=True)]


def close(value: Any) -> Any:
    """Return a known float, to be met within 1e-9."""
    return pytest.approx(value, rel=1e-9)


def test_every_known_case(golden: Golden) -> None:
    cases = golden("load_allocation")["cases"]
    assert len(cases) == 8
    for row in cases:
        best = optimal(row_groups(row), row["k"])
        assert [-u for u in best.u] == close(row["W"])
        assert list(best.u) == close(row["u"])
        assert list(best.xi) == close(row["xi"])
        assert list(best.r) == close(row["r"])
        assert list(best.l) == close(row["l"])
        assert (best.T, best.n, best.rate) == close((row["T"], row["n"], row["rate"]))
        assert list(rounded(best.l)) == row["l_ceil"]
        assert sum(N * load for N, load in zip(row["N"], rounded(best.l), strict=True)) == row["n_ceil"]
        other = optimal(row_groups(row), row["k"], "row")
        assert close(row["T_one_row_model"]) == other.T
        assert (other.l, other.r, other.n) == (best.l, best.r, best.n)


def test_known_roots_and_rates(golden: Golden) -> None:
    table = golden("load_allocation")
    for row in table["u_table"]:
        assert 1 + excess_root(row["alpha_mu"]) == close(row["u"])
    for row in table["rate_grid"]:
        best = optimal([Group(100, 1.0, 1.0), Group(row["N2"], row["mu2"], 1.0)], 1000)
        assert best.rate == close(row["rate"])


def test_homogeneous_optima(golden: Golden) -> None:
    for row in golden("load_allocation")["homogeneous_exact"]:
        best = homogeneous(row["N"], Fraction(row["mu"]), Fraction(row["alpha"]))
        assert (best.r, best.ET, best.rate) == (row["r"], Fraction(row["ET"]), Fraction(row["rate"]))


@given(st.floats(1e-300, 1e300))
def test_the_root_solves_its_equation_at_any_size(product: float) -> None:
    v = excess_root(product)
    if v > 0.1:
        assert v - log1p(v) == pytest.approx(product, rel=1e-12)
    else:
        # v - log(1 + v) = v^2/2 - v^3/3 + ..., with terms of alternating sign.
        terms = [(-1) ** n * v**n / n for n in range(2, 30)]
        assert sum(reversed(terms)) == pytest.approx(product, rel=1e-12)


@given(groups, st.integers(1, 10**6))
def test_all_groups_finish_together_with_just_enough_rows(some: list[Group], k: int) -> None:
    best = optimal(some, k)
    assert sum(r * load for r, load in zip(best.r, best.l, strict=True)) == pytest.approx(k)
    for group, r, load, xi in zip(some, best.r, best.l, best.xi, strict=True):
        assert 0 < r <= group.N
        assert load * xi / k == pytest.approx(best.T)
        assert xi == pytest.approx(group.alpha + log1p(r / (group.N - r)) / group.mu, rel=1e-6) or r > (
            0.99 * group.N
        )


@given(
    st.lists(
        st.builds(Group, st.integers(1, 99), st.floats(0.1, 10), st.floats(0.1, 10)), min_size=1, max_size=3
    ),
    st.lists(st.floats(0.2, 5), min_size=3, max_size=3),
)
def test_no_loads_bring_the_rows_sooner_on_average(some: list[Group], factors: list[float]) -> None:
    """At time T of the optimum, no other loads have had more than k rows come back, on average."""
    best = optimal(some, 1000)

    def rows(loads: list[float]) -> float:
        waited = [g.mu * (best.T * 1000 / load - g.alpha) for g, load in zip(some, loads, strict=True)]
        return sum(
            g.N * load * (1 - exp(-max(0.0, wait))) for g, load, wait in zip(some, loads, waited, strict=True)
        )

    assert rows(list(best.l)) == pytest.approx(1000)
    assert rows([load * f for load, f in zip(best.l, factors, strict=False)]) <= 1000 * (1 + 1e-9)


def test_the_rate_is_not_monotone_in_the_second_straggling_rate() -> None:
    rates = [optimal([Group(100, 1, 1), Group(200, mu, 1)], 1000).rate for mu in (1e-4, 0.1, 1)]
    assert rates == pytest.approx([0.663, 0.527, 0.682], abs=5e-4)


@given(st.integers(1, 7), st.integers(1, 7), st.fractions(Fraction(1, 9), 9), st.fractions(0, 9))
def test_homogeneous_times_are_mean_order_statistics(N: int, r: int, mu: Fraction, alpha: Fraction) -> None:
    """E of the r-th of N exponentials by inclusion and exclusion; no r is better than the optimum."""
    r = min(r, N)
    mean = sum(
        Fraction((-1) ** i * comb(r - 1, i) * factorial(N), factorial(r - 1) * factorial(N - r))
        / (N - r + 1 + i) ** 2
        for i in range(r)
    )
    best = homogeneous(N, mu, alpha)
    time = (alpha + mean / mu) / r
    assert time >= best.ET
    assert time == best.ET or best.r != r


def test_without_a_shift_one_worker_of_many_is_waited_for() -> None:
    best = homogeneous(5, Fraction(2), Fraction(0))
    assert (best.r, best.ET) == (1, Fraction(1, 10))


def test_at_equal_time_fewer_coded_rows_are_held() -> None:
    best = homogeneous(2, Fraction(1), Fraction(1, 2))
    assert (best.r, best.ET, best.rate) == (2, 1, 1)


def test_rounding_keeps_whole_loads() -> None:
    assert rounded((3.0, 2.0000001, 7 * (1 / 7) * 3, 0.2)) == (3, 3, 3, 1)


def test_uniform_loads_have_their_rate() -> None:
    some = [Group(2, 1, 1), Group(3, 2, 1)]
    assert uniform(some, 100) == (20, 20)
    assert uniform(some, 100, 0.5) == (40, 40)
    for rate in (0, 1.5):
        with pytest.raises(UsageError, match="rate of a code"):
            uniform(some, 100, rate)


@pytest.mark.parametrize(
    ("N", "mu", "alpha", "complaint"),
    [
        (0, 1.0, 1.0, "number of workers N in a group is 0"),
        (1, 0.0, 1.0, r"straggling rate mu of a group is 0\.0"),
        (1, float("inf"), 1.0, "straggling rate mu of a group is inf"),
        (1, 1.0, -1.0, r"shift alpha of a group is -1\.0"),
        (1, 1.0, float("nan"), "shift alpha of a group is nan"),
    ],
)
def test_groups_are_checked(N: int, mu: float, alpha: float, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        Group(N, mu, alpha)


def test_requests_are_checked() -> None:
    with pytest.raises(UsageError, match="no groups"):
        optimal([], 10)
    with pytest.raises(UsageError, match="number of rows k is 0"):
        optimal([Group(1, 1, 1)], 0)
    unknown: Any = "rows"
    with pytest.raises(UsageError, match="runtime model is 'rows': choose 'job' or 'row'"):
        optimal([Group(1, 1, 1)], 1, unknown)
    with pytest.raises(UsageError, match=r"alpha mu = 0 .* give a shift alpha above 0"):
        optimal([Group(1, 1, 0)], 1)
    with pytest.raises(UsageError, match="mu = 0 and alpha = 1"):
        homogeneous(3, Fraction(0), Fraction(1))
    inexact: Any = 0.5
    with pytest.raises(UsageError, match="not an exact number"):
        homogeneous(3, inexact, Fraction(1))
