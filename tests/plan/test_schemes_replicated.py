"""Replication without coding: unicasts, balanced, and a load that no bundle changes."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import PlanError
from coded_mr.plan import verify
from coded_mr.plan.bound import lower_bound
from coded_mr.plan.schemes import replicated, uncoded
from coded_mr.theory.tradeoff import uncoded_load


@given(st.integers(1, 9), st.data())
def test_it_is_decodable_and_meets_its_load_exactly(ranks, data):
    r = data.draw(st.integers(1, ranks))
    plan = replicated(data.draw(st.integers(ranks, 3 * ranks)), ranks, r)
    found = verify(plan)
    assert found.load == uncoded_load(ranks, r) >= lower_bound(plan)
    assert (found.computation_load, found.peak) == (r, Fraction(r, ranks))
    assert len(plan.batches) == (ranks if r < ranks else 1)
    assert all(len(packet.receivers) == len(packet.terms) == 1 for packet in plan.packets)


@given(st.integers(2, 9), st.data())
def test_ranks_send_and_receive_equally_and_never_two_to_one(ranks, data):
    r = data.draw(st.integers(1, ranks - 1))
    packets = replicated(ranks, ranks, r).packets
    assert set(Counter(packet.sender for packet in packets).values()) == {ranks - r}
    for start in range(0, len(packets), ranks):
        step = packets[start : start + ranks]
        assert sorted(packet.sender for packet in step) == list(range(ranks))
        assert sorted(packet.receivers for packet in step) == [(rank,) for rank in range(ranks)]


def test_without_replication_it_is_the_plain_shuffle():
    once, plain = replicated(7, 5, 1), uncoded(7, 5)
    assert (once.reduces, once.batches, once.packets) == (plain.reduces, plain.batches, plain.packets)


@pytest.mark.parametrize("numbers", [(3, 4, 1), (3, 3, 0), (3, 3, 4), (0, 0, 0)])
def test_impossible_numbers_are_refused(numbers):
    with pytest.raises(PlanError):
        replicated(*numbers)
