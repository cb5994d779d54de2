"""Repair combinations: every receiver can use every one that concerns it, and there are few."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from coded_mr.engine.multicast.repair import combinations

LOSSES = st.lists(st.sets(st.integers(0, 40), max_size=20), max_size=10)


@given(LOSSES, st.integers(1, 12))
def test_every_receiver_gets_all_it_lacks(missing: list[set[int]], most: int) -> None:
    found = combinations(missing, most)
    for lacking in missing:
        use = [lacking.intersection(pieces) for pieces in found]
        assert all(len(each) <= 1 for each in use)
        assert set().union(*use) == lacking


@given(LOSSES, st.integers(1, 12))
def test_every_lost_piece_is_in_one_set(missing: list[set[int]], most: int) -> None:
    found = combinations(missing, most)
    assert sorted(piece for pieces in found for piece in pieces) == sorted(set().union(*missing))
    assert all(1 <= len(pieces) <= most for pieces in found)


@given(LOSSES, st.integers(1, 12))
def test_their_number_lies_between_the_unluckiest_and_all(missing: list[set[int]], most: int) -> None:
    count = len(combinations(missing, most))
    assert max(map(len, missing), default=0) <= count <= len(set().union(*missing))


@given(st.lists(st.integers(0, 15), min_size=1, max_size=8))
def test_different_losses_cost_as_many_as_the_unluckiest(counts: list[int]) -> None:
    missing = [set(range(100 * receiver, 100 * receiver + count)) for receiver, count in enumerate(counts)]
    assert len(combinations(missing, len(counts))) == max(counts)


@given(st.sets(st.integers(0, 99)), st.integers(1, 9))
def test_equal_losses_are_sent_plain(lacking: set[int], receivers: int) -> None:
    assert combinations([lacking] * receivers, 12) == [(piece,) for piece in sorted(lacking)]


def test_two_receivers_share_one_repair() -> None:
    assert combinations([{3}, {7}], 12) == [(3, 7)]
    assert combinations([{3, 7}, {7}], 12) == [(7,), (3,)]
    assert combinations([{3}, {7}], 1) == [(3,), (7,)]
