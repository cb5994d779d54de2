"""Pictures show what the plan says: they are counted against the plan that they are drawn from."""

from __future__ import annotations

import re
from fractions import Fraction
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("sphinx", reason="no sphinx: pip install '.[docs]'")

from coded_mr.errors import PlanError
from coded_mr.plan import Plan, schemes
from coded_mr.theory.allocation import rows
from coded_mr.theory.costs import Costs
from docs.extensions.figures import planned
from docs.extensions.pictures import decoding, packets, placement, term_name, times


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Draw a small plan of some scheme that sends something."""
    Q = draw(st.integers(2, 5))
    r = draw(st.integers(1, Q - 1))
    return draw(
        st.sampled_from(
            (
                schemes.solver_helper(Q, Q, r, draw(st.integers(1, 3))),
                schemes.symmetric(Q, Q, r),
                schemes.replicated(Q, Q, r),
                schemes.uncoded(Q, Q),
            )
        )
    )


def shapes(picture: str, tag: str, kind: str) -> list[ElementTree.Element]:
    """Return the elements of a picture that have a tag and, among their classes, a kind."""
    found = ElementTree.fromstring(picture).iter(tag)
    return [one for one in found if kind in one.get("class", "").split()]


@given(plans())
def test_the_placement_marks_each_mapping_once(plan: Plan) -> None:
    picture = placement(plan)
    for kind, ranks in (("solver", plan.solvers), ("helper", plan.helpers)):
        assert len(shapes(picture, "rect", kind)) == sum(len(plan.batches_of[rank]) for rank in ranks)
    empty = plan.ranks * len(plan.batches) - sum(map(len, plan.batches_of))
    assert len(shapes(picture, "rect", "nothing")) == empty


@given(plans())
def test_packets_have_a_sender_and_their_receivers(plan: Plan) -> None:
    picture = packets(plan)
    assert len(shapes(picture, "circle", "sender")) == len(plan.packets)
    dots = list(ElementTree.fromstring(picture).iter("circle"))
    assert len(dots) == sum(1 + len(packet.receivers) for packet in plan.packets)
    for packet in plan.packets:
        for term in packet.terms:
            assert term_name(term) in picture


@given(plans(), st.data())
def test_each_receiver_keeps_what_it_lacks_and_strips_the_rest(plan: Plan, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(plan.packets) - 1))
    packet, picture = plan.packets[number], decoding(plan, number)
    lacking = sum(len(plan.lacks(receiver, packet)) for receiver in packet.receivers)
    assert len(shapes(picture, "rect", "kept")) == lacking
    assert len(shapes(picture, "rect", "stripped")) == len(packet.receivers) * len(packet.terms) - lacking


@given(plans())
def test_nothing_is_drawn_outside_the_picture(plan: Plan) -> None:
    for picture in (placement(plan), packets(plan), decoding(plan, 0)):
        width, height = map(float, re.findall(r'viewBox="0 0 (\S+) (\S+)"', picture)[0])
        for one in ElementTree.fromstring(picture).iter():
            right = max(float(one.get("x", 0)) + float(one.get("width", 0)), float(one.get("cx", 0)))
            low = max(float(one.get("y", 0)) + float(one.get("height", 0)), float(one.get("cy", 0)))
            if one.tag in ("rect", "circle", "text"):
                assert right <= width
                assert low <= height


def test_bars_are_as_long_as_the_times() -> None:
    table = rows(3, Costs.parse("1,2,1"), "sequential")
    picture = times(table, 2)
    maps = [float(one.get("height", 0)) for one in shapes(picture, "rect", "map")]
    assert [Fraction(round(height / maps[-1] * 3), 3) for height in maps] == [row.t_map for row in table]
    assert picture.count("r*") == 1


def test_a_plan_that_is_not_possible_is_refused() -> None:
    with pytest.raises(PlanError):
        planned("solver_helper", "partitions=3 solvers=4 r=2 helpers=2")
