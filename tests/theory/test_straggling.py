"""The bandwidth-latency tradeoff of arXiv 1609.01690 against known answers and against counting.

tests/data/straggling.json was computed by enumeration and simulation, not by this package; "a/b" is exact.
"""

# A Fraction may equal an int, which mypy takes for a comparison that is never true.
# mypy: disable-error-code="comparison-overlap"

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, pairwise, permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import UsageError
from coded_mr.theory.straggling import (
    Point,
    Setting,
    cheapest,
    envelope,
    mean_latencies,
    share_memory,
    shifted_exponential,
    tradeoff,
)

Golden = Callable[[str], Any]


@st.composite
def settings(draw: st.DrawFn) -> Setting:
    """Draw a small setting."""
    K = draw(st.integers(1, 9))
    mu = draw(st.fractions(Fraction(1, K), 1, max_denominator=12))
    return Setting(K, mu, draw(st.integers(1, 50)))


def found(point: Point) -> dict[str, Any]:
    """Return a point in the words of the table of known answers."""
    return {
        "q": point.q,
        "mu_q": point.a,
        "mu_bar": point.mu_bar,
        "s_q": point.s_q,
        "L1": point.L1,
        "L2": point.L2,
        "L": point.L,
        "branch": "L2" if point.one_more_level else "L1",
        "g": shifted_exponential(point.setting.K, point.q),
        "D": point.D,
        "D_mu_bar": point.D_stored,
        "L_lower_derived": point.bound,
        "L_lower_thirdparty_eq11": point.bound_published,
    }


def exact(value: Any) -> Any:
    """Return a known answer as a number; "L1" and "L2" stay what they are."""
    return Fraction(value) if isinstance(value, str) and not value.startswith("L") else value


def test_every_known_point(golden: Golden) -> None:
    tables = golden("straggling")["tables"]
    assert sum(len(table["points"]) for table in tables) == 55
    for table in tables:
        setting = Setting(table["K"], Fraction(table["mu"]), table["N"])
        points = tradeoff(setting)
        assert setting.fewest == table["q_min"] == points[0].q
        for point, row in zip(points, table["points"], strict=True):
            levels = {int(j): Fraction(value) for j, value in row.pop("B").items()}
            assert {j: value for j, value in enumerate(point.B) if j in levels} == levels
            assert not any(value for j, value in enumerate(point.B) if j and j not in levels)
            assert found(point) == {name: exact(value) for name, value in row.items()}
        corners = [[point.D, point.L] for point in envelope(points)]
        assert corners == [[Fraction(x) for x in corner] for corner in table["envelope"]]


@given(settings(), st.data())
def test_levels_count_the_rows_that_finishers_keep(setting: Setting, data: st.DataObject) -> None:
    """B_j, by counting: each batch is worth 1 / C(K, a) of the K / q m coded rows."""
    point = data.draw(st.sampled_from(tradeoff(setting)))
    K, q = setting.K, point.q
    batches = list(combinations(range(K), point.a))
    worth = Fraction(K, q) / len(batches)
    # The finishers are 0..q-1; server 0 lacks the batches that do not name it.
    lacked = [sum(server < q for server in batch) for batch in batches if 0 not in batch]
    for j in range(point.a + 1):
        assert point.B[j] == worth * lacked.count(j)
    assert point.mu_bar == worth * sum(0 in batch for batch in batches)
    assert sum(point.B) == Fraction(K, q) - point.mu_bar
    assert sum(point.B[1:]) >= point.missing


@given(settings())
def test_loads_lie_between_the_bounds_and_plain_unicast(setting: Setting) -> None:
    for point in tradeoff(setting):
        assert point.bound_published <= point.bound <= point.L <= setting.N * point.missing
        assert point.residual >= 0
        assert (point.s_q == 1) == (point.L2 is None)
        assert 1 <= point.s_q <= point.a
        assert point.s_q > 1 or point.residual == 0
        assert point.D_stored <= point.D


@given(settings(), st.lists(st.integers(1, 1000), min_size=9, max_size=9))
def test_the_envelope_is_convex_and_below_every_point(setting: Setting, times: list[int]) -> None:
    points = tradeoff(setting, [Fraction(time) for time in sorted(times)[: setting.K]])
    corners = envelope(points)
    slopes = [(b.L - a.L) / (b.D - a.D) for a, b in pairwise(corners)]
    assert all(slope < 0 for slope in slopes)
    assert all(a < b for a, b in pairwise(slopes))
    for point in points:
        mix = share_memory(points, point.D)
        assert 0 <= mix.theta <= 1
        assert mix.D <= point.D
        assert mix.L <= point.L


@given(settings(), st.fractions(0, 1))
def test_memory_sharing_interpolates(setting: Setting, place: Fraction) -> None:
    points = tradeoff(setting)
    corners = envelope(points)
    D = corners[0].D + place * (corners[-1].D - corners[0].D)
    mix = share_memory(points, D)
    assert mix.D == D
    pairs = [(a, b) for a in points for b in points if a.D <= D <= b.D]
    chords = [a.L if a.D == b.D else a.L + (D - a.D) * (b.L - a.L) / (b.D - a.D) for a, b in pairs]
    assert min(chords) == mix.L


def test_memory_sharing_has_a_least_latency() -> None:
    points = tradeoff(Setting(4, Fraction(1, 2), 4))
    assert share_memory(points, Fraction(100)).L == 1
    with pytest.raises(UsageError, match=r"latency of 3: the least is 19/6 \(q = 2\)"):
        share_memory(points, Fraction(3))
    with pytest.raises(UsageError, match="no point"):
        share_memory((), Fraction(3))


@given(settings(), st.fractions(0, 100), st.fractions(0, 100))
def test_the_cheapest_point_is_a_corner(setting: Setting, time: Fraction, load: Fraction) -> None:
    points = tradeoff(setting)
    cost = {point.q: time * point.D + load * point.L for point in points}
    best = cheapest(points, time, load)
    assert cost[best.q] == min(cost.values())
    if time and load:
        assert cost[best.q] == min(cost[corner.q] for corner in envelope(points))


def test_at_equal_load_the_rest_is_unicast() -> None:
    point = Setting(7, Fraction(1, 2), 360).point(6)
    assert point.L1 == point.L2 == point.L == 100
    assert not point.one_more_level
    assert list(point.levels) == [3]


def test_end_points_of_the_paper() -> None:
    setting = Setting(6, Fraction(1, 2), 12)
    slowest, fastest = setting.point(6), setting.point(2)
    assert (slowest.s_q, slowest.L) == (1, setting.N * (1 - setting.mu) / (setting.mu * 6))
    assert (fastest.a, fastest.L, fastest.bound) == (1, 6, 6)
    assert [point.L for point in tradeoff(Setting(5, Fraction(1), 60))] == [0] * 5


@given(st.integers(1, 5), st.data())
def test_the_mean_order_statistic_counts_orders(K: int, data: st.DataObject) -> None:
    """E of the q-th of K exponentials, from the memoryless race: 1/K + 1/(K-1) + ..."""
    q = data.draw(st.integers(1, K))
    assert shifted_exponential(K, q) == 1 + sum(Fraction(1, K - i) for i in range(q))


def test_measured_latencies_are_mean_order_statistics() -> None:
    runs = list(permutations([1.5, 2.0, 4.0])) + [(0.5, 0.5, 0.5)] * 6
    assert mean_latencies(runs) == (1, Fraction(5, 4), Fraction(9, 4))
    points = tradeoff(Setting(3, Fraction(1, 2), 2), mean_latencies(runs))
    assert [(point.q, point.D) for point in points] == [(2, Fraction(5, 4)), (3, Fraction(9, 4))]


@pytest.mark.parametrize(
    ("K", "mu", "N", "complaint"),
    [
        (0, Fraction(1), 1, "number of servers K is 0"),
        (True, Fraction(1), 1, "number of servers K is True"),
        (4, Fraction(1, 5), 4, r"storage mu of a server is 1/5: .*1/4 <= mu <= 1"),
        (4, Fraction(5, 4), 4, "storage mu of a server is 5/4"),
        (4, 0.5, 4, r"storage mu of a server is 0\.5, not an exact number"),
        (4, Fraction(1, 2), -1, "number of input vectors N is -1"),
    ],
)
def test_settings_are_checked(K: Any, mu: Any, N: Any, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        Setting(K, mu, N)


@pytest.mark.parametrize("q", [0, 1, 5, Fraction(3)])
def test_q_is_checked(q: Any) -> None:
    with pytest.raises(UsageError, match="choose 2 <= q <= 4"):
        Setting(4, Fraction(1, 2), 4).point(q)


@pytest.mark.parametrize("runs", [[], [()], [(1.0, 2.0), (1.0,)]])
def test_measured_latencies_are_checked(runs: Any) -> None:
    with pytest.raises(UsageError, match="one map time of each of the K servers"):
        mean_latencies(runs)


def test_as_many_latencies_as_servers_are_asked_for() -> None:
    with pytest.raises(UsageError, match="3 latencies were given for K = 4"):
        tradeoff(Setting(4, Fraction(1, 2), 4), [Fraction(1)] * 3)
    with pytest.raises(UsageError, match="no points to choose from"):
        cheapest((), Fraction(1), Fraction(1))
