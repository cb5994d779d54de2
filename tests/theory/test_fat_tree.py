"""The tree's numbers and the load of its busiest cable, against known answers."""

# A Fraction may equal an int, which mypy takes for a comparison that is never true.
# mypy: disable-error-code="comparison-overlap"

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import UsageError
from coded_mr.theory.fat_tree import LEVELS, FatTree, Position, arity, busiest_link, level_bounds
from coded_mr.theory.tradeoff import cascaded_load

Golden = Callable[[str], Any]


def test_arity_meets_every_known_answer(golden: Golden) -> None:
    for servers, t in golden("fat_tree")["t_of_K"]:
        assert arity(servers) == t, servers


@given(st.integers(1, 10**9))
def test_arity_is_the_smallest_even_that_holds_all(servers: int) -> None:
    t = arity(servers)
    assert t % 2 == 0
    assert (t - 2) ** 3 < 4 * servers <= t**3


def test_trees_and_loads_meet_every_known_answer(golden: Golden) -> None:
    rows = golden("fat_tree")["loads"]
    assert len(rows) == 20
    for row in rows:
        K, r, s = row["K"], row["r"], row["s"]
        tree = FatTree(arity(K))
        assert (tree.t, tree.switches, tree.hosts) == (row["t"], row["switches"], row["hosts"])
        assert busiest_link(K, r, s) == Fraction(row["D"]) == Fraction(row["D_formula"]), row
        assert cascaded_load(K, r, s) == Fraction(row["L_star"])
        for bound, level in zip(level_bounds(K, r, s), LEVELS, strict=True):
            measured = row["levels"][level]
            assert bound.level == level
            assert Fraction(measured["up"]) <= bound.up, row
            assert Fraction(measured["down"]) <= bound.down, row
            assert Fraction(measured["tot"]) <= bound.both, row


@given(st.integers(1, 60), st.data())
def test_the_busiest_cable_carries_less_than_a_bus(K: int, data: st.DataObject) -> None:
    r, s = data.draw(st.integers(1, K)), data.draw(st.integers(1, K))
    load = busiest_link(K, r, s)
    assert load <= cascaded_load(K, r, s)
    assert load * K == cascaded_load(K, r, s) + s * (1 - Fraction(r, K))
    assert busiest_link(K, r) == (1 - Fraction(r, K)) * (1 + Fraction(1, r)) / K


@pytest.mark.parametrize("t", [2, 4, 6])
def test_places_fill_the_tree_from_the_left(t: int) -> None:
    tree = FatTree(t)
    every = [tree.position(place) for place in range(tree.hosts)]
    assert every == sorted(set(every))
    assert every[-1] == Position(t - 1, t // 2 - 1, t // 2 - 1)


def test_what_no_tree_has_is_refused() -> None:
    for t in (0, 3, -2, True, 4.0):
        with pytest.raises(UsageError, match="arity"):
            FatTree(t)  # type: ignore[arg-type]
    for servers in (0, 2.5):
        with pytest.raises(UsageError, match="servers K"):
            arity(servers)  # type: ignore[arg-type]
    for place in (-1, 16):
        with pytest.raises(UsageError, match="outside"):
            FatTree(4).position(place)
    with pytest.raises(UsageError, match="no cascaded scheme"):
        busiest_link(4, 5)
