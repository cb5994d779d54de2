"""Placement on any network: never worse than the ranks as numbered, and better where that can be seen."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coded_mr.errors import PlanError
from coded_mr.plan.model import Batch, Packet, Plan, Term
from coded_mr.plan.relabel import relabelled
from coded_mr.plan.schemes import cascaded, resolvable, solver_helper, symmetric, uncoded
from coded_mr.plan.verify import verify
from coded_mr.topology import Sites, burden, line_loads, place
from tests.topology.networks import PODS, TWO_SWITCHES, any_sites

IN_TURN = ("h1", "h5", "h2", "h6", "h3", "h7", "h4", "h8")
"""As a launcher places ranks that fills switches in turn."""

PLANS = [solver_helper(4, 4, 1, 2), solver_helper(3, 3, 2, 1), resolvable(6, 2, 3), uncoded(5, 5, 0)]


@settings(max_examples=60)
@given(st.sampled_from([*PLANS, symmetric(4, 4, 2), cascaded(6, 4, 2, 2)]), st.integers(0, 3), st.data())
def test_never_worse_than_as_numbered(plan: Plan, spare: int, data: st.DataObject) -> None:
    sites = data.draw(any_sites(plan.ranks + spare))
    found = place(plan, sites)
    assert len(set(found.ranks)) == plan.ranks
    assert set(found.ranks) <= set(range(len(sites.hosts)))
    placed = relabelled(plan, found.ranks)
    assert found.burden == burden(line_loads(placed, sites, "multicast"))
    assert found.before == burden(line_loads(plan, sites, "multicast"))
    assert found.burden.total <= found.before.total
    assert found.burden.most <= found.before.most
    assert verify(placed) == verify(plan)


@pytest.mark.parametrize(
    ("plan", "hosts", "before", "after"),
    [
        # Groups of two that meet at a switch.
        (resolvable(8, 4, 2), IN_TURN, Fraction(5, 2), Fraction(2)),
        (resolvable(8, 2, 4), IN_TURN, Fraction(1), Fraction(11, 12)),
        # A helper moves in beside a solver.
        (solver_helper(4, 4, 2, 2), IN_TURN, Fraction(1), Fraction(23, 24)),
    ],
)
def test_known_plans_find_their_places(
    plan: Plan, hosts: tuple[str, ...], before: Fraction, after: Fraction
) -> None:
    found = place(plan, Sites(TWO_SWITCHES, hosts))
    assert (found.before.total, found.burden.total) == (before, after)


@pytest.mark.parametrize("plan", [solver_helper(3, 3, 1, 2), solver_helper(4, 4, 2, 1), resolvable(6, 2, 3)])
def test_no_other_order_of_the_ranks_loads_less(plan: Plan) -> None:
    sites = Sites(TWO_SWITCHES, IN_TURN[: plan.ranks])
    orders = permutations(range(plan.ranks))
    least = min(burden(line_loads(relabelled(plan, o), sites, "multicast")).total for o in orders)
    assert place(plan, sites).burden.total == least


def test_helpers_in_pods_halve_the_busiest_line() -> None:
    found = place(solver_helper(8, 8, 2, 4), Sites(PODS, tuple(f"h{k}" for k in range(16))))
    assert found.before.most == Fraction(1, 4)
    assert found.burden.most < Fraction(17, 100)


def test_a_spare_rank_steps_in_where_it_is_nearer() -> None:
    """Two ranks exchange across switches while a spare is beside one of them."""
    pair = Plan(
        scheme="pair",
        partitions=2,
        reduces=((0,), (1,)),
        batches=(Batch((0,), Fraction(1, 2)), Batch((1,), Fraction(1, 2))),
        packets=(Packet(0, (1,), (Term((1,), 0),)), Packet(1, (0,), (Term((0,), 1),))),
    )
    found = place(pair, Sites(TWO_SWITCHES, ("h1", "h5", "h2")))
    assert found.ranks in ((0, 2), (2, 0))
    placed = relabelled(pair, found.ranks)
    assert (placed.ranks, placed.solvers, placed.helpers) == (3, (0, 2), ())


def test_a_plan_that_does_not_fit_is_refused() -> None:
    with pytest.raises(PlanError, match="4 ranks does not fit 3"):
        place(solver_helper(3, 3, 1, 1), Sites(TWO_SWITCHES, IN_TURN[:3]))


def test_only_different_ranks_can_play_the_parts() -> None:
    plan = solver_helper(3, 3, 1, 1)
    for ranks in ((0, 1, 2), (0, 1, 2, 2), (0, 1, 2, -1)):
        with pytest.raises(PlanError, match="different ranks"):
            relabelled(plan, ranks)
    assert relabelled(plan, range(4)) == plan
