"""Resolvable designs: their counts, their one stage of exchange, and their load."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import PlanError
from coded_mr.plan import verify
from coded_mr.plan.bound import lower_bound
from coded_mr.plan.schemes import resolvable, resolvable_load, symmetric
from coded_mr.theory import tradeoff

DESIGNS = [(1, 2), (1, 4), (2, 2), (3, 2), (5, 2), (2, 3), (3, 3), (4, 3), (2, 4), (3, 4), (2, 5), (32, 2)]


@pytest.mark.parametrize(("q", "k"), DESIGNS)
def test_counts_and_load_are_those_of_the_theory(q, k):
    K = q * k
    plan = resolvable(K, q, k)
    found, due = verify(plan), tradeoff.resolvable(K, k)
    assert found.load == due.load == resolvable_load(K, q, k)
    assert (found.computation_load, found.peak) == (k, Fraction(1, q))
    assert len(plan.batches) == due.batches == q ** (k - 1)
    assert len(plan.packets) == due.packets
    groups = Counter(frozenset((packet.sender, *packet.receivers)) for packet in plan.packets)
    assert len(groups) == due.groups
    assert set(groups.values()) <= {k}
    assert lower_bound(plan) <= found.load
    if q > 1:
        assert found.load == tradeoff.cdc_load(K, k) * Fraction(k, k - 1)


@pytest.mark.parametrize(("q", "k"), DESIGNS)
def test_every_class_maps_every_batch_once(q, k):
    plan = resolvable(k * q, q, k)
    for mappers, _ in plan.batches:
        assert [rank // q for rank in mappers] == list(range(k))
        assert sum(rank % q for rank in mappers) % q == 0


@given(st.sampled_from(DESIGNS), st.data())
def test_padding_of_uneven_bundles_is_in_the_load(design, data):
    q, k = design
    partitions = data.draw(st.integers(k * q, 3 * k * q))
    plan = resolvable(partitions, q, k)
    found = verify(plan)
    assert found.load == resolvable_load(partitions, q, k)
    assert found.most_partitions == -(-partitions // (k * q))
    assert lower_bound(plan) <= found.load
    longer = [
        sum(len(owned) * k * q > partitions for owned in plan.reduces[i * q : (i + 1) * q]) for i in range(k)
    ]
    assert partitions % (k * q) == 0 or max(longer) - min(longer) <= 1


@pytest.mark.parametrize(("q", "k"), [(4, 2), (3, 4), (4, 4)])
def test_every_rank_sends_once_in_each_step(q, k):
    """For an even number of classes; the blocks of whole rounds come first."""
    packets = resolvable(k * q, q, k).packets
    steps = [packets[at : at + k * q] for at in range(0, len(packets) // (k * k * q) * k * k * q, k * q)]
    assert steps
    for step in steps:
        assert sorted(packet.sender for packet in step) == list(range(k * q))
        assert Counter(rank for packet in step for rank in packet.receivers) == dict.fromkeys(
            range(k * q), k - 1
        )


def test_many_ranks_need_far_fewer_batches_and_packets():
    plan, plain = resolvable(12, 4, 3), symmetric(12, 12, 3)
    assert (len(plan.batches), len(plain.batches)) == (4**2, comb(12, 3))
    assert (len(plan.packets), len(plain.packets)) == (3 * 3 * 4**2, 4 * comb(12, 4))


@pytest.mark.parametrize("numbers", [(6, 0, 2), (6, 3, 1), (6, 6, 1), (5, 3, 2), (0, 0, 0)])
@pytest.mark.parametrize("function", [resolvable, resolvable_load])
def test_impossible_numbers_are_refused(function, numbers):
    with pytest.raises(PlanError):
        function(*numbers)
