"""Cascaded coded distributed computing against the counts of the reference and the formula."""

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
from coded_mr.plan.schemes import cascaded, symmetric
from coded_mr.theory.constrained import solver_load
from coded_mr.theory.tradeoff import cascaded_levels, cascaded_load


def test_groups_rows_segments_and_blocks_are_those_of_the_reference(golden):
    for row in golden("cdc")["cascaded_counts"]:
        K, r, s = row["K"], row["r"], row["s"]
        plan = cascaded(comb(K, s), K, r, s)
        sizes = dict.fromkeys(1 + len(packet.receivers) for packet in plan.packets)
        assert list(sizes) == [level["l"] for level in row["groups"]]
        for level in row["groups"]:
            packets = [p for p in plan.packets if len(p.receivers) + 1 == level["l"]]
            groups = Counter(frozenset((p.sender, *p.receivers)) for p in packets)
            assert len(groups) == level["subsets"]
            assert set(groups.values()) == {level["l"]}
            assert {p.rows for p in packets} == {level["messages_per_sender"]}
            assert {len(p.terms) for p in packets} == {level["segments_held_per_sender"]}
            assert {len(t.partitions) for p in packets for t in p.terms} == {level["value_block"]}
            assert {t.segments for p in packets for t in p.terms} == {r}


def test_loads_are_those_of_the_reference(golden):
    rows = [row for row in golden("cdc")["L"] if row["K"] <= 5]
    assert rows
    for row in rows:
        K, r, s = row["K"], row["r"], row["s"]
        assert verify(cascaded(comb(K, s), K, r, s)).load == Fraction(row["L"]), row


@given(st.integers(1, 6), st.integers(1, 2), st.data())
def test_equal_bundles_meet_the_paper_and_the_lower_bound(ranks, each, data):
    r, s = data.draw(st.integers(1, ranks)), data.draw(st.integers(1, ranks))
    partitions = each * comb(ranks, s)
    plan = cascaded(partitions, ranks, r, s)
    found = verify(plan)
    assert found.load == cascaded_load(ranks, r, s) == lower_bound(plan)
    assert (found.computation_load, found.peak) == (r, Fraction(r, ranks))
    assert len(plan.packets) == sum(level.size * level.groups for level in cascaded_levels(ranks, r, s))
    assert {len(owned) for owned in plan.reduces} == {each * comb(ranks - 1, s - 1)}


@given(st.integers(1, 5), st.data())
def test_uneven_bundles_work_and_are_no_better_than_the_bound(ranks, data):
    r, s = data.draw(st.integers(1, ranks)), data.draw(st.integers(1, ranks))
    partitions = data.draw(st.integers(comb(ranks, s), 3 * comb(ranks, s)))
    plan = cascaded(partitions, ranks, r, s)
    load = verify(plan).load
    assert lower_bound(plan) <= load
    if s == 1:
        assert load == solver_load(partitions, ranks, r)
    lengths = Counter(q for owned in plan.reduces for q in owned)
    assert set(lengths.values()) == {s}


@given(st.integers(1, 6), st.data())
def test_reduced_once_it_is_the_symmetric_scheme(ranks, data):
    r = data.draw(st.integers(1, ranks))
    partitions = data.draw(st.integers(ranks, 2 * ranks))
    once, plain = cascaded(partitions, ranks, r, 1), symmetric(partitions, ranks, r)
    assert (once.reduces, once.batches) == (plain.reduces, plain.batches)
    assert {p._replace(terms=tuple(sorted(p.terms))) for p in once.packets} == set(plain.packets)


def test_longer_bundles_are_spread_over_the_ranks():
    """Of 8 partitions for 6 pairs the two extra ones go to disjoint pairs."""
    assert sorted(map(len, cascaded(8, 4, 2, 2).reduces)) == [4, 4, 4, 4]


@pytest.mark.parametrize(
    "numbers",
    [(6, 4, 0, 2), (6, 4, 5, 2), (6, 4, 2, 0), (6, 4, 2, 5), (5, 4, 2, 2), (0, 0, 0, 0), (3003, 14, 6, 6)],
)
def test_impossible_numbers_are_refused(numbers):
    with pytest.raises(PlanError):
        cascaded(*numbers)


def test_more_terms_than_the_field_can_tell_apart_are_refused():
    with pytest.raises(PlanError, match="462 segments"):
        cascaded(comb(14, 6), 14, 6, 6)
