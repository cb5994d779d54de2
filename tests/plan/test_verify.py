"""verify() finds what is wrong with a plan: each test breaks a good plan in one way."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import PlanError
from coded_mr.plan import Batch, Packet, Plan, Term, verify
from coded_mr.plan.schemes import solver_helper, uncoded


@pytest.fixture
def plan() -> Plan:
    return solver_helper(3, 3, 2, 2)


def test_the_paper_example(plan):
    found = verify(plan)
    assert (found.load, found.peak, found.helper_peak) == (Fraction(1, 9), Fraction(2, 3), Fraction(1, 2))
    assert found.computation_load == 2


def test_a_lost_packet_is_noticed(plan):
    with pytest.raises(PlanError, match="neither maps batch"):
        verify(replace(plan, packets=plan.packets[1:]))


def test_a_packet_sent_twice_is_noticed(plan):
    with pytest.raises(PlanError, match="already"):
        verify(replace(plan, packets=(*plan.packets, plan.packets[0])))


def test_a_sender_without_the_batch_is_noticed(plan):
    wrong = plan.packets[0]._replace(sender=plan.packets[1].sender)
    with pytest.raises(PlanError, match="does not map"):
        verify(replace(plan, packets=(wrong, *plan.packets[1:])))


def test_a_receiver_without_side_information_is_noticed(plan):
    batches = list(plan.batches)
    term = plan.packets[0].terms[0]
    batches[term.batch] = Batch((1, 3), batches[term.batch].share)  # rank 2 no longer maps it
    with pytest.raises(PlanError, match="cannot use it"):
        verify(replace(plan, batches=tuple(batches)))


def test_shares_must_add_up(plan):
    batches = (plan.batches[0]._replace(share=Fraction(1, 5)), *plan.batches[1:])
    with pytest.raises(PlanError, match="add up to"):
        verify(replace(plan, batches=batches))


def test_a_negative_share_is_refused(plan):
    batches = (plan.batches[0]._replace(share=Fraction(-1, 6)), *plan.batches[1:])
    with pytest.raises(PlanError, match="negative"):
        verify(replace(plan, batches=batches))


@pytest.mark.parametrize(
    "reduces", [((0,), (1,), (1,), (), ()), ((0,), (1,), (), (), ()), ((0, 3), (1,), (2,), (), ())]
)
def test_each_partition_is_reduced_once(plan, reduces):
    with pytest.raises(PlanError, match="must each be reduced"):
        verify(replace(plan, reduces=reduces))


def test_a_batch_without_mappers_is_refused(plan):
    with pytest.raises(PlanError, match="nobody"):
        verify(replace(plan, batches=(plan.batches[0]._replace(mappers=()), *plan.batches[1:])))


@pytest.mark.parametrize(
    "packet",
    [
        Packet(3, (0,), ()),
        Packet(3, (), (Term((0,), 4),)),
        Packet(3, (3,), (Term((0,), 4),)),
        Packet(9, (0,), (Term((0,), 4),)),
        Packet(3, (9,), (Term((0,), 4),)),
        Packet(3, (0,), (Term((0,), 99),)),
        Packet(3, (4,), (Term((0,), 4),)),
        Packet(3, (0,), (Term((), 4),)),
        Packet(3, (0,), (Term((0,), 4, 2, 2),)),
        Packet(3, (0,), (Term((0,), 4),), 0),
        Packet(3, (0, 0), (Term((0,), 4),)),
    ],
)
def test_malformed_packets_are_refused(plan, packet):
    with pytest.raises(PlanError, match="packet"):
        verify(replace(plan, packets=(*plan.packets, packet)))


def test_only_reducers_are_sent_partitions(plan):
    first = plan.packets[0]
    wrong = first._replace(terms=(first.terms[0]._replace(partitions=(1,)), *first.terms[1:]))
    with pytest.raises(PlanError, match="does not reduce"):
        verify(replace(plan, packets=(wrong, *plan.packets[1:])))


def test_a_missing_segment_is_noticed(plan):
    cut = [term._replace(segments=2) for term in plan.packets[0].terms]
    halves = [plan.packets[0]._replace(terms=tuple(t._replace(segment=i) for t in cut)) for i in range(2)]
    whole = verify(replace(plan, packets=(*halves, *plan.packets[1:])))
    assert whole.load == Fraction(1, 9)
    for packets in ((halves[0],), (halves[0], halves[0])):
        with pytest.raises(PlanError, match=r"neither maps|already"):
            verify(replace(plan, packets=(*packets, *plan.packets[1:])))


def test_two_rows_bring_two_terms():
    """Two receivers that map nothing of two batches solve two combinations for both."""
    batches = (Batch((2,), Fraction(1, 2)), Batch((2,), Fraction(1, 2)))
    terms = (Term((0,), 0), Term((0,), 1))
    plan = Plan("rows", 1, ((0,), (0,), ()), batches, (Packet(2, (0, 1), terms, 2),))
    found = verify(plan)
    assert found.load == 1
    assert found.traffic == ((2, Fraction(1)),)
    with pytest.raises(PlanError, match="cannot use it"):
        verify(replace(plan, packets=(Packet(2, (0, 1), terms, 1),)))


def test_segments_beside_the_whole_are_noticed(plan):
    sender, receivers, terms, _ = plan.packets[0]
    waste = Packet(sender, receivers, tuple(term._replace(segments=2) for term in terms))
    with pytest.raises(PlanError, match="never the others"):
        verify(replace(plan, packets=(*plan.packets, waste)))


def test_more_terms_than_the_field_can_tell_apart_are_refused():
    for count in (255, 256):
        batches = tuple(Batch((1,), Fraction(1, count)) for _ in range(count))
        packet = Packet(1, (0,), tuple(Term((0,), b) for b in range(count)), count)
        plan = Plan("rows", 1, ((0,), ()), batches, (packet,))
        if count == 255:
            assert verify(plan).load == 1
        else:
            with pytest.raises(PlanError, match="256 terms"):
                verify(plan)


@given(st.integers(2, 5), st.data())
def test_no_value_can_be_left_out(partitions, data):
    r = data.draw(st.integers(0, partitions - 1))
    plan = data.draw(
        st.sampled_from([solver_helper(partitions, partitions, r, 2), uncoded(partitions, partitions, 1)])
    )
    packets = list(plan.packets)
    number = data.draw(st.integers(0, len(packets) - 1))
    sender, receivers, terms, _ = packets.pop(number)
    if len(terms) > 1:
        packets.insert(number, Packet(sender, receivers[1:], terms[1:]))
    with pytest.raises(PlanError, match="neither maps"):
        verify(replace(plan, packets=tuple(packets)))
