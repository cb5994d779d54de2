"""A plan's packets through an emulated fat tree: every link carries what was computed for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.cluster import Cluster, ClusterError, fat_tree
from benchmarks.cluster.replay import node_name, replay
from coded_mr.plan.model import Plan
from coded_mr.plan.schemes import cascaded, solver_helper, symmetric
from coded_mr.theory.fat_tree import FatTree
from coded_mr.topology import links


@pytest.mark.parametrize("t", [2, 4, 6])
def test_every_link_is_a_cable_of_the_emulated_tree(t: int) -> None:
    cables = {(cable.a, cable.b) for cable in fat_tree(t).cables if cable.limited}
    tree = FatTree(t)
    assert {(node_name(link.tail, tree), node_name(link.head, tree)) for link in links(tree)} == cables


@pytest.mark.parametrize("plan", [cascaded(28, 8, 2, 2), solver_helper(6, 6, 1, 10)], ids=lambda p: p.scheme)
def test_every_link_carries_what_was_computed(emulated: Callable[..., Cluster], plan: Plan) -> None:
    layout = fat_tree(4)
    found = replay(emulated(layout), layout, plan, FatTree(4), rate=1e6, times=1)
    assert max(found.carried.values()) > 0
    assert found.deviation < 0.05


def test_a_plan_that_sends_nothing_is_refused(emulated: Callable[..., Cluster]) -> None:
    layout = fat_tree(2)
    with pytest.raises(ClusterError, match="none"):
        replay(emulated(layout), layout, symmetric(2, 2, 2), FatTree(2), rate=1e6, times=1)
