"""Fits of runtimes and groups of workers, on samples whose parameters are known."""

from __future__ import annotations

from math import exp, log
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import UsageError
from coded_mr.theory.runtime_fit import fit, group_workers, unit_times

samples = st.lists(st.floats(0, 1e6), min_size=3, max_size=30).filter(lambda x: max(x) - min(x) > 1e-3)


def draw(random: Random, alpha: float, mu: float, count: int) -> list[float]:
    """Return runtimes of a shifted exponential."""
    return [alpha + random.expovariate(mu) for _ in range(count)]


@given(samples, st.floats(0.5, 2), st.floats(0, 1))
def test_no_other_parameters_are_likelier(times: list[float], factor: float, earlier: float) -> None:
    found = fit(times)

    def likelihood(alpha: float, mu: float) -> float:
        return len(times) * log(mu) - mu * sum(time - alpha for time in times)

    best = likelihood(found.alpha, found.mu)
    alpha = found.alpha - earlier / found.mu
    assert likelihood(alpha, found.mu * factor) <= best + 1e-9 * abs(best)
    assert found.alpha == min(times)
    assert found.samples == len(times)


@given(samples)
def test_the_distance_is_the_largest_gap_anywhere(times: list[float]) -> None:
    found = fit(times)

    def gap(time: float, fraction: float) -> float:
        return abs(fraction - (1 - exp(-found.mu * max(0.0, time - found.alpha))))

    at = [gap(time, sum(other <= time for other in times) / len(times)) for time in times]
    before = [gap(time, sum(other < time for other in times) / len(times)) for time in times]
    assert found.distance == pytest.approx(max(at + before), abs=1e-9)


def test_many_samples_give_back_the_parameters() -> None:
    found = fit(draw(Random(1), 3.0, 0.5, 20_000))
    assert found.alpha == pytest.approx(3.0, abs=1e-3)
    assert found.mu == pytest.approx(0.5, rel=0.03)
    assert found.distance < 0.02
    assert found.plausible


@pytest.mark.parametrize("count", [5, 20, 200])
def test_one_true_fit_in_twenty_is_rejected(count: int) -> None:
    random = Random(count)
    rejected = sum(not fit(draw(random, 1.0, 2.0, count)).plausible for _ in range(2000))
    assert 0.03 < rejected / 2000 < 0.07


@pytest.mark.parametrize(
    "other",
    [
        lambda random: random.uniform(1, 2),
        lambda random: random.gauss(10, 1),
        lambda random: random.choice([1, 10]) + random.random(),
        lambda random: random.paretovariate(0.8),
    ],
)
def test_other_distributions_are_rejected(other: Any) -> None:
    random = Random(5)
    assert not fit([other(random) for _ in range(300)]).plausible


@given(samples, st.integers(-20, 20))
def test_scaling_time_scales_the_fit(times: list[float], power: int) -> None:
    scale = 2.0**power
    one, two = fit(times), fit([time * scale for time in times])
    assert (two.alpha, two.distance) == pytest.approx((one.alpha * scale, one.distance))
    assert two.mu == pytest.approx(one.mu / scale)


def test_unit_times_undo_the_load() -> None:
    assert unit_times([2.0, 3.0], [10, 20], 100) == (20.0, 15.0)
    assert unit_times([2.0, 3.0], [10, 20], 100, "row") == (0.2, 0.15)
    random = Random(2)
    rows = [random.randrange(50, 150) for _ in range(5000)]
    times = [l_j / 1000 * (2.0 + random.expovariate(0.25)) for l_j in rows]
    found = fit(unit_times(times, rows, 1000))
    assert (found.alpha, found.mu) == pytest.approx((2.0, 0.25), rel=0.05)


def test_workers_are_told_apart() -> None:
    random = Random(3)
    kinds = [(1.0, 10.0), (3.0, 2.0), (1.0, 10.0), (9.0, 0.5), (3.0, 2.0), (9.0, 0.5), (1.0, 10.0)]
    workers = [draw(random, alpha, mu, 40) for alpha, mu in kinds]
    found = group_workers(workers)
    assert found.members == ((0, 2, 6), (1, 4), (3, 5))
    assert [group.N for group in found.groups] == [3, 2, 2]
    assert [group.alpha for group in found.groups] == pytest.approx([1, 3, 9], rel=0.05)
    assert [group.mu for group in found.groups] == pytest.approx([10, 2, 0.5], rel=0.25)
    assert all(one.plausible for one in found.fits)


def test_equal_workers_are_one_group() -> None:
    random = Random(4)
    assert len(group_workers([draw(random, 1.0, 1.0, 30) for _ in range(12)]).members) == 1


@given(
    st.lists(st.lists(st.floats(0.1, 10), min_size=3, max_size=5, unique=True), min_size=1, max_size=6),
    st.data(),
)
def test_groups_are_the_likeliest_neighbours(workers: list[list[float]], data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(workers)))
    found = group_workers(workers, count)
    assert sorted(worker for members in found.members for worker in members) == list(range(len(workers)))
    order = sorted(range(len(workers)), key=lambda w: (sum(workers[w]) / len(workers[w]), w))

    def cost(members: list[int]) -> float:
        one = fit([time for worker in members for time in workers[worker]])
        return one.samples * (1 - log(one.mu))

    def best(start: int, left: int) -> float:
        if left == 1:
            return cost(order[start:])
        return min(
            cost(order[start:end]) + best(end, left - 1) for end in range(start + 1, len(workers) - left + 2)
        )

    assert sum(cost(list(members)) for members in found.members) == pytest.approx(best(0, count))


@pytest.mark.parametrize(
    ("times", "complaint"),
    [
        ([1.0, 2.0], "2 runtimes are too few"),
        ([1.0, -2.0, 3.0], "negative or not finite"),
        ([1.0, 2.0, float("nan")], "negative or not finite"),
        ([1.5, 1.5, 1.5], r"all 3 runtimes are 1\.5: they do not vary"),
    ],
)
def test_samples_are_checked(times: list[float], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        fit(times)
    with pytest.raises(UsageError, match=complaint):
        group_workers([times])


def test_requests_are_checked() -> None:
    with pytest.raises(UsageError, match="no workers"):
        group_workers([])
    with pytest.raises(UsageError, match="1 workers cannot make 2 groups"):
        group_workers([[1.0, 2.0, 3.0]], 2)
    with pytest.raises(UsageError, match="number of groups is 0"):
        group_workers([[1.0, 2.0, 3.0]], 0)
    with pytest.raises(UsageError, match="2 runtimes were given with 1 row counts"):
        unit_times([1.0, 2.0], [1], 10)
    with pytest.raises(UsageError, match="finite and above 0"):
        unit_times([1.0], [0], 10)
