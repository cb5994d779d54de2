"""Placement: its score is the walked total, and it beats filling from the left where that can be beaten."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from random import Random

import pytest

from coded_mr.errors import UsageError
from coded_mr.plan.model import Batch, Packet, Plan, Term
from coded_mr.plan.schemes import cascaded, solver_helper, symmetric
from coded_mr.theory.fat_tree import FatTree
from coded_mr.topology import link_loads, place, total_load

SOLVER_HELPER = [(p, r, h) for p, h in ((2, 1), (3, 2), (4, 2), (4, 4), (5, 3), (6, 3)) for r in range(p)]


@pytest.mark.parametrize(("solvers", "r", "helpers"), SOLVER_HELPER)
def test_solvers_and_helpers_are_placed_no_worse_than_from_the_left(
    solvers: int, r: int, helpers: int
) -> None:
    plan = solver_helper(solvers, solvers, r, helpers)
    places = place(plan)
    assert len(set(places)) == plan.ranks
    assert total_load(plan, None, places) <= total_load(plan)


def test_a_helper_moves_in_beside_a_solver_that_it_serves() -> None:
    plan = solver_helper(4, 4, 1, 2)
    assert total_load(plan) == Fraction(23, 8)
    assert total_load(plan, None, place(plan)) == Fraction(85, 32)


@pytest.mark.parametrize(("solvers", "r", "helpers"), [(3, 1, 2), (4, 1, 2), (4, 2, 1), (3, 2, 3)])
def test_no_order_of_the_ranks_from_the_left_is_better(solvers: int, r: int, helpers: int) -> None:
    plan = solver_helper(solvers, solvers, r, helpers)
    orders = permutations(range(plan.ranks))
    assert total_load(plan, None, place(plan)) <= min(total_load(plan, None, order) for order in orders)


@pytest.mark.parametrize(
    "plan", [solver_helper(5, 5, 2, 2), symmetric(6, 6, 2), cascaded(10, 5, 2, 2), symmetric(3, 3, 3)]
)
def test_the_score_is_the_sum_of_all_links(plan: Plan) -> None:
    tree = FatTree(4)
    for seed in range(5):
        places = Random(seed).sample(range(tree.hosts), plan.ranks)
        assert total_load(plan, tree, places) == sum(link_loads(plan, tree, places).values())


def test_ranks_that_exchange_come_together() -> None:
    pairs = {rank: (rank + 4) % 8 for rank in range(8)}
    plan = Plan(
        scheme="pairs",
        partitions=8,
        reduces=tuple((rank,) for rank in range(8)),
        batches=tuple(Batch((rank,), Fraction(1, 8)) for rank in range(8)),
        packets=tuple(Packet(a, (b,), (Term((b,), a),)) for a, b in pairs.items()),
    )
    places = place(plan)
    assert all(places[a] // 2 == places[b] // 2 for a, b in pairs.items())
    assert total_load(plan) == Fraction(6, 8)
    assert total_load(plan, None, places) == Fraction(4, 8)


def test_a_tree_too_small_is_refused() -> None:
    with pytest.raises(UsageError, match="outside"):
        place(solver_helper(3, 3, 1, 1), FatTree(2))
