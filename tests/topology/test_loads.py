"""Loads of every link, walked and counted, against each other, the bounds and known answers."""

# A Fraction may equal an int, which mypy takes for a comparison that is never true.
# mypy: disable-error-code="comparison-overlap"

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from math import comb
from typing import Any

import pytest

from coded_mr.errors import PlanError, UsageError
from coded_mr.plan.model import Plan
from coded_mr.plan.schemes import cascaded, resolvable, solver_helper, symmetric
from coded_mr.plan.verify import verify
from coded_mr.theory.fat_tree import LEVELS, FatTree, arity, busiest_link, level_bounds
from coded_mr.theory.tradeoff import cascaded_load
from coded_mr.topology import Link, count_cables, level_maxima, link_loads, links

Golden = Callable[[str], Any]

SMALL = [(K, r, s) for K in (2, 3, 5, 7, 9) for r in range(1, K + 1) for s in (1, 2, 3) if s <= K]


def uplinks(loads: dict[Link, Fraction], level: str) -> Fraction:
    return sum((load for link, load in loads.items() if link.up and link.level == level), Fraction(0))


def test_walking_known_cases_meets_every_known_answer(golden: Golden) -> None:
    for row in golden("fat_tree")["loads"]:
        K, r, s = row["K"], row["r"], row["s"]
        loads = link_loads(cascaded(comb(K, s), K, r, s))
        for found in level_maxima(loads):
            known = row["levels"][found.level]
            assert (found.up, found.down, found.both) == (
                Fraction(known["up"]),
                Fraction(known["down"]),
                Fraction(known["tot"]),
            ), row
        assert max(load + loads[link.reverse] for link, load in loads.items()) == Fraction(row["D"]), row
        assert {uplinks(loads, level) for level in LEVELS} == {Fraction(row["L_star"])}


@pytest.mark.parametrize(("K", "r", "s"), SMALL)
def test_counting_is_walking(K: int, r: int, s: int) -> None:
    loads = link_loads(cascaded(comb(K, s), K, r, s))
    counted: Counter[tuple[str, Fraction, Fraction]] = Counter()
    for cables in count_cables(K, r, s):
        counted[cables.level, cables.up, cables.down] += cables.cables
    tree = FatTree(arity(K))
    for level in LEVELS:  # above empty places
        counted[level, Fraction(0), Fraction(0)] += tree.hosts - sum(
            cables.cables for cables in count_cables(K, r, s) if cables.level == level
        )
    walked = Counter((link.level, loads[link], loads[link.reverse]) for link in links(tree))
    assert walked == +counted


@pytest.mark.parametrize("s", [1, 2, 3])
def test_the_busiest_cable_is_as_busy_as_theory_says_up_to_128_servers(s: int) -> None:
    for K in range(s, 129):
        for r in range(1, K + 1):
            found = count_cables(K, r, s)
            assert max(cables.up + cables.down for cables in found) == busiest_link(K, r, s), (K, r)
            for bound in level_bounds(K, r, s):
                here = [cables for cables in found if cables.level == bound.level]
                assert sum(cables.cables * cables.up for cables in here) == cascaded_load(K, r, s), (K, r)
                assert all(cables.up <= bound.up and cables.down <= bound.down for cables in here), (K, r)
                assert bound.level != LEVELS[0] or all(cables.down == bound.down for cables in here)


def test_tens_of_thousands_of_packets_are_walked() -> None:
    plan = symmetric(16, 16, 4)
    assert len(plan.packets) == 21_840
    loads = link_loads(plan)
    assert max(load + loads[link.reverse] for link, load in loads.items()) == busiest_link(16, 4)


@pytest.mark.parametrize("plan", [solver_helper(6, 6, 2, 3), solver_helper(4, 2, 1, 1), resolvable(6, 2, 3)])
def test_any_plan_is_walked_segments_rows_and_bundles(plan: Plan) -> None:
    verified = verify(plan)
    tree = FatTree(6)
    loads = link_loads(plan, tree, [5 * rank % 54 for rank in range(plan.ranks)])
    assert {uplinks(loads, level) for level in LEVELS} == {verified.load}
    down = sum(load for link, load in loads.items() if not link.up and link.level == LEVELS[0])
    assert down == sum(receivers * load for receivers, load in verified.traffic)


def test_helpers_carry_up_and_nothing_down() -> None:
    plan = solver_helper(3, 3, 1, 2)
    loads = link_loads(plan)
    servers = {link.tail.pod * 4 + link.tail.number: link for link in loads if link.tail.kind == "server"}
    for rank in range(5):
        up, down = loads[servers[rank]], loads[servers[rank].reverse]
        assert (up, down) == ((0, Fraction(2, 9)) if rank < 3 else (Fraction(1, 6), 0))


def test_ranks_without_a_place_of_their_own_are_refused() -> None:
    plan = solver_helper(3, 3, 1, 2)
    for places in ([0, 1, 2, 3], [0, 1, 2, 3, 3]):
        with pytest.raises(PlanError, match="different places"):
            link_loads(plan, FatTree(4), places)
    with pytest.raises(UsageError, match="outside"):
        link_loads(plan, FatTree(2))
