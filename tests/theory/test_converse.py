"""Lemma 1 of arXiv 1702.07297 against counting value by value and against loads that are reached."""

# A Fraction may equal an int, which mypy takes for a comparison that is never true.
# mypy: disable-error-code="comparison-overlap"

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import PlanError, UsageError
from coded_mr.theory.constrained import helper_load
from coded_mr.theory.converse import lemma1, placement_bound, placement_counts
from coded_mr.theory.tradeoff import cascaded_load, cdc_load

servers = st.integers(0, 5)
sets = st.sets(servers, min_size=1)


def symmetric(servers: int, size: int) -> list[tuple[Collection[int], Fraction]]:
    """Return one batch, of one file, for every set of servers of a size."""
    return [(group, Fraction(1)) for group in combinations(range(servers), size)]


def test_the_paper_example_needs_a_ninth() -> None:
    assert lemma1({(3, 1): 6, (3, 0): 12}, 18) == Fraction(1, 9)
    maps = [{1, 2, 3, 4}, {3, 4, 5, 6}, {1, 2, 5, 6}, {1, 3, 5}, {2, 4, 6}]
    batches = [({k for k, files in enumerate(maps) if n in files}, Fraction(1)) for n in range(1, 7)]
    assert placement_counts(batches, [{0}, {1}, {2}]) == {(3, 1): 6, (3, 0): 12}
    assert placement_bound(batches, [{0}, {1}, {2}]) == Fraction(1, 9)


@given(st.lists(st.tuples(sets, st.fractions(Fraction(1, 9), 9)), min_size=1), st.lists(sets, min_size=1))
def test_counts_are_those_of_every_value_by_itself(
    batches: list[tuple[set[int], Fraction]], reducers: list[set[int]]
) -> None:
    expected: Counter[tuple[int, int]] = Counter()
    needed = Fraction(0)
    for mappers, share in batches:
        for wanting in reducers:
            s, d = len(mappers), len(wanting - mappers)
            expected[s, d] += share  # type: ignore[assignment]
            needed += share * (Fraction(d, s + d - 1) if d else 0)
    assert placement_counts(batches, reducers) == dict(expected)
    size = sum(share for _, share in batches)
    assert placement_bound(batches, reducers) == needed / (size * len(reducers))


@pytest.mark.parametrize("K", range(1, 7))
def test_symmetric_placements_meet_the_bound(K: int) -> None:
    for r in range(1, K + 1):
        assert placement_bound(symmetric(K, r), [{k} for k in range(K)]) == cdc_load(K, r)
        for s in range(1, K + 1):
            reducers = list(combinations(range(K), s))
            assert placement_bound(symmetric(K, r), reducers) == cascaded_load(K, r, s)


@pytest.mark.parametrize("Q", range(1, 6))
@pytest.mark.parametrize("helpers", [1, 3])
def test_helpers_meet_the_bound_with_one_function_a_solver(Q: int, helpers: int) -> None:
    for r in range(Q):
        batches = [((*group, Q + i), share) for group, share in symmetric(Q, r) for i in range(helpers)]
        assert placement_bound(batches, [{k} for k in range(Q)]) == helper_load(Q, Q, r)


def test_more_knowledge_lowers_the_bound() -> None:
    bounds = [lemma1({(s, 1): 1}, 1) for s in range(1, 6)]
    assert bounds == [Fraction(1, s) for s in range(1, 6)]
    assert lemma1({(1, 4): 5}, 5) == 1  # one multicast of each value serves all who want it
    assert lemma1({}, 3) == 0


@pytest.mark.parametrize(
    ("counts", "values"),
    [({(0, 1): 1}, 1), ({(1, -1): 1}, 1), ({(1, 1): -1}, 1), ({(1, 1): 1}, 0), ({(1, 1): 0.5}, 1)],
)
def test_counts_that_cannot_be_are_refused(counts: dict[tuple[int, int], Any], values: int) -> None:
    with pytest.raises(UsageError):
        lemma1(counts, values)


def test_a_batch_that_nobody_maps_is_named() -> None:
    with pytest.raises(PlanError, match="batch 1 is mapped by nobody"):
        placement_bound([({0}, Fraction(1)), ((), Fraction(1))], [{0}])
    with pytest.raises(UsageError, match="there must be some"):
        placement_bound([], [{0}])
