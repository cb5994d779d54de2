"""Symmetric coded distributed computing against the placements of the reference and the formula."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import PlanError
from coded_mr.plan import verify
from coded_mr.plan.bound import lower_bound
from coded_mr.plan.schemes import symmetric, uncoded
from coded_mr.theory.constrained import solver_load
from coded_mr.theory.tradeoff import cdc_load


def test_it_has_the_batches_and_the_messages_of_the_reference(golden):
    for row in golden("cdc")["placements"]:
        plan = symmetric(row["K"], row["K"], row["r"])
        assert [batch.mappers for batch in plan.batches] == [
            tuple(k - 1 for k in batch["T"]) for batch in row["batches"]
        ]
        files = [batch["files"] for batch in row["batches"]]
        sent = {
            (packet.sender + 1, tuple(sorted((packet.sender + 1, *(k + 1 for k in packet.receivers))))): [
                (term.partitions[0] + 1, files[term.batch], term.segment + 1, term.segments)
                for term in packet.terms
            ]
            for packet in plan.packets
        }
        assert sent == {
            (message["sender"], tuple(message["S"])): [
                (term["reduce"], term["files"], term["segment"], row["segments_per_value"])
                for term in message["terms"]
            ]
            for message in row["messages"]
        }
        assert verify(plan).load == Fraction(row["load"])


def test_uneven_bundles_have_the_load_of_the_reference(golden):
    rows = [row for row in golden("plans")["uneven_loads"] if row["L_cdc"] is not None]
    assert rows
    for row in rows:
        assert verify(symmetric(row["Q"], row["S"], row["r"])).load == Fraction(row["L_cdc"]), row


@given(st.integers(1, 7), st.data())
def test_it_is_decodable_and_meets_its_load_exactly(ranks, data):
    r = data.draw(st.integers(1, ranks))
    partitions = data.draw(st.integers(ranks, 3 * ranks))
    plan = symmetric(partitions, ranks, r)
    found = verify(plan)
    assert found.load == solver_load(partitions, ranks, r)
    assert (found.computation_load, found.peak) == (r, Fraction(r, ranks))
    assert found.most_partitions == -(-partitions // ranks)
    assert len(plan.packets) == (r + 1) * comb(ranks, r + 1)
    assert lower_bound(plan) <= found.load


@given(st.integers(1, 7), st.integers(1, 3), st.data())
def test_equal_bundles_meet_the_paper_and_the_lower_bound(ranks, each, data):
    r = data.draw(st.integers(1, ranks))
    plan = symmetric(each * ranks, ranks, r)
    assert verify(plan).load == cdc_load(ranks, r) == lower_bound(plan)


def test_its_unicasts_are_the_uncoded_ones():
    assert symmetric(9, 6, 1).packets == uncoded(9, 6).packets


@pytest.mark.parametrize(("ranks", "r"), [(6, 2), (8, 3), (16, 3)])
def test_a_step_has_each_rank_in_one_group(ranks, r):
    """The groups of one round follow each other, and have every rank in one of them."""
    packets = symmetric(ranks, ranks, r).packets
    together = ranks // (r + 1)
    groups = [{packet.sender, *packet.receivers} for packet in packets]
    runs = [groups[at : at + together] for at in range(0, together * (r + 1), together)]
    assert all(len(set().union(*run)) == together * (r + 1) for run in runs)


def test_a_group_is_used_again_only_after_a_round():
    used: dict[frozenset[int], list[int]] = {}
    for number, packet in enumerate(symmetric(8, 8, 3).packets):
        used.setdefault(frozenset((packet.sender, *packet.receivers)), []).append(number)
    assert set(used) == {frozenset(S) for S in combinations(range(8), 4)}
    assert all(len(numbers) == 4 for numbers in used.values())
    assert min(b - a for numbers in used.values() for a, b in combinations(numbers, 2)) > 1


@pytest.mark.parametrize("numbers", [(3, 4, 1), (3, 3, 0), (3, 3, 4), (3, 0, 0), (0, 0, 0), (2, -1, 1)])
def test_impossible_numbers_are_refused(numbers):
    with pytest.raises(PlanError):
        symmetric(*numbers)
