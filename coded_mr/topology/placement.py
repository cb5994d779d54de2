"""Where to put a plan's ranks on a fat tree, so that packets seldom climb it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from math import lcm

from coded_mr.plan.model import Plan
from coded_mr.theory.fat_tree import FatTree, arity
from coded_mr.topology.loads import flows, positions

__all__ = ["place", "total_load"]


def total_load(plan: Plan, tree: FatTree | None = None, places: Sequence[int] | None = None) -> Fraction:
    """Return the load of all links together, in units of QNT bits: the sum of `link_loads`, without a walk.

    A packet takes 3 links up, and down one for each receiver, for each edge switch with receivers but the
    sender's, and for each such pod. Arguments and errors are those of `link_loads`.
    """
    spread = _Spread(plan, tree or FatTree(arity(plan.ranks)), places)
    fixed = sum(amount * (3 + len(receivers)) for _, receivers, amount in spread.flows)
    return Fraction(fixed + sum(spread.costs), spread.unit)


def place(plan: Plan, tree: FatTree | None = None) -> tuple[int, ...]:
    """Return the place of each rank, as numbers for `link_loads`: total load no more than from the left.

    Starts from the left and exchanges two ranks, or moves one to a free place, as long as that lowers the
    total load: what comes down to a switch or pod need not when its sender is there. A local optimum, after
    a few passes of some (ranks x packets) steps for each rank. Raises UsageError when the tree is too small.
    """
    tree = tree or FatTree(arity(plan.ranks))
    spread = _Spread(plan, tree, None)
    while _improve(spread, tree):
        pass
    free = {edge: list(range(tree.half)) for edge in product(range(tree.t), range(tree.half))}
    return tuple((pod * tree.half + edge) * tree.half + free[pod, edge].pop(0) for pod, edge in spread.edges)


Edge = tuple[int, int]


class _Spread:
    """What depends on where ranks are: the edge switches and pods that each flow comes down to."""

    def __init__(self, plan: Plan, tree: FatTree, places: Sequence[int] | None) -> None:
        sent = flows(plan)
        self.edges = [(where.pod, where.edge) for where in positions(plan, tree, places)]
        self.unit = lcm(*(load.denominator for load in sent.values()))
        self.flows = [
            (*flow, load.numerator * (self.unit // load.denominator)) for flow, load in sent.items()
        ]
        self.costs = [self._cost(index) for index in range(len(self.flows))]
        self._of: list[list[int]] = [[] for _ in range(plan.ranks)]
        for index, (sender, receivers, _) in enumerate(self.flows):
            for rank in (sender, *receivers):
                self._of[rank].append(index)

    def _cost(self, index: int) -> int:
        """Return the load of one flow on links down to edge switches and pods, over 1/unit."""
        sender, receivers, amount = self.flows[index]
        own = self.edges[sender]
        down = {self.edges[rank] for rank in receivers} - {own}
        return amount * (len(down) + len({pod for pod, _ in down} - {own[0]}))

    def try_at(self, moves: dict[int, Edge]) -> bool:
        """Put ranks at other edge switches if that lowers the cost; tell whether it did."""
        before = {rank: self.edges[rank] for rank in moves}
        self._put(moves)
        costs = {index: self._cost(index) for index in {index for rank in moves for index in self._of[rank]}}
        if sum(costs.values()) >= sum(self.costs[index] for index in costs):
            self._put(before)
            return False
        for index, cost in costs.items():
            self.costs[index] = cost
        return True

    def _put(self, moves: dict[int, Edge]) -> None:
        for rank, edge in moves.items():
            self.edges[rank] = edge


def _improve(spread: _Spread, tree: FatTree) -> bool:
    """Try every exchange and every move once, keeping what helps; tell whether any did."""
    at = spread.edges
    helped = False
    for a, b in combinations(range(len(at)), 2):
        helped |= at[a] != at[b] and spread.try_at({a: at[b], b: at[a]})
    for rank in range(len(at)):
        for edge in product(range(tree.t), range(tree.half)):
            helped |= at.count(edge) < tree.half and spread.try_at({rank: edge})
    return helped
