"""Allocation rules give whole loads that are enough, and their mean times are those of the draws."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import isclose, log1p
from statistics import mean

import pytest

from coded_mr.errors import UsageError
from coded_mr.linear.allocation_rules import (
    Rule,
    best,
    optimal,
    parse_rule,
    replication,
    tolerant,
    uncoded,
    uniform,
)
from coded_mr.linear.delays import Delays, Fixed, completion
from coded_mr.theory.finite_allocation import expected_time
from coded_mr.theory.load_allocation import Group, rounded
from coded_mr.theory.load_allocation import optimal as optimal_loads

GROUPS = (Group(2, 4.0, 0.2), Group(4, 1.0, 0.5))


def test_optimal_loads_are_the_rounded_formula() -> None:
    fast, slow = rounded(optimal_loads(GROUPS, 200).l)
    assert optimal(GROUPS)(6, 200).loads == (fast, fast, slow, slow, slow, slow)
    assert fast > slow


def test_uncoded_rows_are_each_held_once() -> None:
    allocation = uncoded(6, 200)
    assert sorted(row for rows in allocation.rows for row in rows) == list(range(200))
    assert max(allocation.loads) - min(allocation.loads) == 1


@pytest.mark.parametrize(("rate", "n"), [(1.0, 200), (0.5, 400), (0.3, 667)])
def test_uniform_rows_at_a_rate(rate: float, n: int) -> None:
    allocation = uniform(rate)(6, 200)
    assert allocation.n == sum(allocation.loads) == n
    assert max(allocation.loads) - min(allocation.loads) <= 1


@pytest.mark.parametrize("lost", [0, 1, 3, 5])
def test_tolerant_rows_are_enough_without_any_lost(lost: int) -> None:
    loads = tolerant(lost)(6, 201).loads
    assert all(sum(chosen) >= 201 for chosen in combinations(loads, 6 - lost))
    assert loads[0] == -(-201 // (6 - lost))


@pytest.mark.parametrize("copies", [1, 2, 3, 4, 6])
def test_replicated_rows_are_held_by_so_many(copies: int) -> None:
    allocation = replication(copies)(6, 200)
    held = [sum(row in rows for rows in allocation.rows) for row in range(200)]
    assert min(held) >= copies
    assert allocation.n == 200


def test_mean_time_of_replication_is_the_closed_form() -> None:
    """Four equal workers, two parts of two copies: the later of two, each the earlier of two."""
    groups = (Group(4, 2.0, 0.3),)
    found = replication(2)(4, 100).mean_time(groups)
    assert isclose(found, 0.5 * (0.3 + 1.5 / (2 * 2.0)), rel_tol=1e-6)


def test_mean_time_of_a_row_model_is_k_times_as_long() -> None:
    for rule in (uncoded, replication(2), optimal(GROUPS)):
        allocation = rule(6, 90)
        assert isclose(allocation.mean_time(GROUPS, "row"), 90 * allocation.mean_time(GROUPS), rel_tol=1e-9)


def test_mean_time_of_group_loads_is_the_theory_s() -> None:
    allocation = optimal(GROUPS)(6, 200)
    loads = (allocation.loads[0], allocation.loads[-1])
    assert isclose(allocation.mean_time(GROUPS), expected_time(GROUPS, loads, 200), rel_tol=1e-9)


@pytest.mark.parametrize(
    "rule",
    [uncoded, uniform(0.6), tolerant(2), replication(2), replication(4), optimal(GROUPS), best(GROUPS)],
)
def test_mean_time_is_the_mean_of_seeded_draws(rule: Rule) -> None:
    allocation, delays = rule(6, 200), Delays(GROUPS, scale=2.0, seed=5, strata=1000)
    drawn = mean(completion(allocation, delays, repetition) for repetition in range(4000))
    assert isclose(drawn, 2.0 * allocation.mean_time(GROUPS), rel_tol=0.015)


def test_the_searched_rule_is_the_fastest() -> None:
    times = {
        rule: parse_rule(rule, GROUPS)(6, 200).mean_time(GROUPS)
        for rule in ("best", "optimal", "uncoded", "uniform:0.5", "uniform:0.8", "replication:2")
    }
    assert min(times, key=times.__getitem__) == "best"
    assert times["optimal"] < min(times[name] for name in times if name not in ("best", "optimal"))


@pytest.mark.parametrize(
    ("text", "name"),
    [("uniform:0.5", "uniform:0.5"), ("replication:2", "replication:2"), ("tolerant:1", "tolerant:1")],
)
def test_rules_are_read_by_name(text: str, name: str) -> None:
    assert parse_rule(text)(4, 20).name == name


@pytest.mark.parametrize(
    "text", ["", "fast", "optimal", "uniform", "uniform:x", "uniform:0", "replication:0", "uncoded:2"]
)
def test_unknown_rules_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_rule(text)


def test_groups_must_have_as_many_workers() -> None:
    with pytest.raises(UsageError, match="the groups have 6 workers, but there are 5"):
        optimal(GROUPS)(5, 100)


def test_delays_repeat_with_the_seed_and_grow_with_the_load() -> None:
    delays = Delays(GROUPS, scale=1.0, seed=1)
    assert delays.seconds(3, 7, 10, 20) == Delays(GROUPS, scale=1.0, seed=1).seconds(3, 7, 10, 20)
    assert delays.seconds(3, 7, 10, 20) == 2 * delays.seconds(3, 7, 5, 20)
    assert delays.seconds(3, 7, 10, 20) != delays.seconds(3, 8, 10, 20)
    assert delays.seconds(3, 7, 10, 20) != Delays(GROUPS, scale=1.0, seed=2).seconds(3, 7, 10, 20)
    assert min(delays.seconds(0, number, 20, 20) for number in range(99)) > 0.2


def test_strata_are_each_drawn_once_in_a_cycle() -> None:
    delays = Delays((Group(1, 1.0, 0.0),), scale=1.0, strata=8)
    for cycle in range(3):
        draws = sorted(delays.seconds(0, 8 * cycle + at, 1, 1) for at in range(8))
        edges = [-log1p(-at / 8) for at in range(8)] + [float("inf")]
        assert all(low <= draw <= high for draw, low, high in zip(draws, edges[:-1], edges[1:], strict=True))


def test_fixed_delays_complete_with_the_last_needed() -> None:
    allocation = tolerant(1)(3, 10)
    assert completion(allocation, Fixed((1.0, 9.0, 2.0)), 0) == 2.0 * float(Fraction(5, 10))


@pytest.mark.parametrize(("scale", "strata"), [(0.0, 1), (float("nan"), 1), (1.0, 0)])
def test_wrong_delays_are_refused(scale: float, strata: int) -> None:
    with pytest.raises(UsageError):
        Delays(GROUPS, scale=scale, strata=strata)
