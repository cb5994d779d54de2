"""Loads of the lines of a network, against known answers, theory and each other."""

# A Fraction may equal an int, which mypy takes for a comparison that is never true.
# mypy: disable-error-code="comparison-overlap"

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.plan.model import Plan
from coded_mr.plan.schemes import cascaded, resolvable, solver_helper, symmetric, uncoded
from coded_mr.plan.verify import verify
from coded_mr.theory.fat_tree import busiest_link
from coded_mr.theory.tradeoff import cascaded_load
from coded_mr.topology import Line, Sites, burden, line_loads
from coded_mr.topology.lines import TRAVELS
from tests.topology.networks import PODS, TWO_SWITCHES, any_sites

ALL = Sites(PODS, tuple(f"h{k}" for k in range(16)))

PLANS = [
    uncoded(4, 4, 0),
    symmetric(5, 5, 2),
    solver_helper(4, 4, 2, 2),
    cascaded(10, 5, 2, 2),
    resolvable(4, 2, 2),
    symmetric(3, 3, 3),
]


def test_two_switches_carry_what_is_counted_by_hand() -> None:
    plan = solver_helper(4, 4, 3, 1)  # one packet, of a quarter of NT bits, from rank 4 to the others
    sites = Sites(TWO_SWITCHES, ("h1", "h2", "h5", "h6", "h3"))
    load = verify(plan).load
    once = line_loads(plan, sites, "multicast")
    crossing = [Line("h3", "s1"), Line("s1", "core"), Line("core", "s2")]
    down = [Line("s1", "h1"), Line("s1", "h2"), Line("s2", "h5"), Line("s2", "h6")]
    assert {line for line, carried in once.items() if carried} == {*crossing, *down}
    assert set(once.values()) == {0, load}
    assert burden(once).total == 7 * load
    # h3, h1, h2, over to the other switch, h5, h6: two ways more, and one back.
    assert burden(line_loads(plan, sites, "relay")).total == 10 * load
    copies = burden(line_loads(plan, sites, "copies"))
    assert (copies.total, copies.busiest, copies.most) == (12 * load, Line("h3", "s1"), 4 * load)


@pytest.mark.parametrize(("r", "s"), [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2)])
def test_the_lines_of_a_full_tree_carry_no_more_than_theory_says(r: int, s: int) -> None:
    plan = symmetric(16, 16, r) if s == 1 else cascaded(120, 16, r, s)
    loads = line_loads(plan, ALL, "multicast")
    for host in PODS.hosts:
        up = Line(host, PODS.above[host])
        assert loads[up] == cascaded_load(16, r, s) / 16
        assert loads[up] + loads[up.reverse] == busiest_link(16, r, s)
    for up in PODS.lines:  # above a pod there are four cables, above an edge switch two
        cables = {"h": 1, "e": 2, "p": 4}[up.tail[0]]
        both = (loads[up] + loads[up.reverse]) / cables
        assert both <= busiest_link(16, r, s) <= cascaded_load(16, r, s)


@given(st.sampled_from(PLANS), st.data())
def test_the_ways_to_travel_compare_as_they_must(plan: Plan, data: st.DataObject) -> None:
    sites = data.draw(any_sites(plan.ranks))
    once, relay, copies = (line_loads(plan, sites, travel) for travel in TRAVELS)
    assert burden(once).total <= burden(copies).total
    # A relay goes up and down every line at most once; to hosts far from each other copies may be shorter.
    assert burden(once).total <= burden(relay).total <= 2 * burden(once).total
    assert all(once[line] <= relay[line] for line in once)
    assert all(once[line] <= copies[line] for line in once)
    for host in set(sites.hosts):
        down = Line(sites.tree.above[host], host)
        assert once[down] == relay[down] <= copies[down]


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"{plan.scheme}-{plan.ranks}")
def test_alone_at_their_hosts_ranks_get_what_they_lack(plan: Plan) -> None:
    sites = Sites(PODS, tuple(f"h{3 * k}" for k in range(plan.ranks)))
    due = sum((receivers * load for receivers, load in verify(plan).traffic), Fraction(0))
    for travel in TRAVELS:
        loads = line_loads(plan, sites, travel)
        assert sum(loads[Line(PODS.above[host], host)] for host in PODS.hosts) == due


def test_ranks_on_one_host_load_no_line() -> None:
    sites = Sites.on_one_switch(["here"] * 5)
    for travel in TRAVELS:
        found = burden(line_loads(symmetric(5, 5, 2), sites, travel))
        assert (found.total, found.busiest, found.most) == (0, None, 0)
