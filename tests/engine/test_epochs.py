"""Epochs: stretches of the schedule in which few enough communicators live."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from coded_mr.engine.epochs import epochs
from coded_mr.plan.schemes import solver_helper, symmetric, uncoded
from coded_mr.plan.turns import in_turns
from coded_mr.plan.verify import verify


@given(st.integers(2, 7), st.integers(1, 6), st.data())
def test_no_rank_is_in_more_groups_than_allowed(partitions, max_live, data):
    r = data.draw(st.integers(0, partitions - 1))
    plan = solver_helper(partitions, partitions, r, data.draw(st.integers(1, 3)))
    cuts = epochs(plan.packets, max_live)
    assert [cut.start for cut in cuts] == [0, *(cut.stop for cut in cuts[:-1])]
    assert cuts[-1].stop == len(plan.packets)
    for cut in cuts:
        packets = plan.packets[cut.start : cut.stop]
        assert list(cut.groups) == list(dict.fromkeys(p.receivers for p in packets if len(p.receivers) > 1))
        assert (
            max(Counter(member for group in cut.groups for member in group).values(), default=0) <= max_live
        )


@given(st.integers(2, 6), st.integers(1, 6), st.data())
def test_with_one_sender_each_epoch_has_one(ranks, max_live, data):
    plan = symmetric(ranks, ranks, data.draw(st.integers(1, ranks - 1)))
    ordered = in_turns(plan)
    assert sorted(ordered.packets) == sorted(plan.packets)
    assert verify(ordered) == verify(plan)
    cuts = epochs(ordered.packets, max_live, one_sender=True)
    assert [cut.start for cut in cuts] == [0, *(cut.stop for cut in cuts[:-1])]
    senders = [{p.sender for p in ordered.packets[cut.start : cut.stop]} for cut in cuts]
    assert [min(each) for each in senders] == [max(each) for each in senders]
    groups = [{p.receivers for p in ordered.packets[cut.start : cut.stop]} for cut in cuts]
    assert [set(cut.groups) for cut in cuts] == [{g for g in each if len(g) > 1} for each in groups]
    assert len(epochs(ordered.packets, 1000, one_sender=True)) == ranks


def test_few_groups_live_in_one_epoch():
    assert len(epochs(solver_helper(5, 5, 2, 3).packets)) == 1


def test_single_receivers_need_no_group():
    (only,) = epochs(uncoded(4, 4).packets, 1)
    assert only.groups == ()
