"""What each link of a fat tree carries when a plan is executed, walked packet by packet or counted.

Loads are exact, in units of QNT bits (all intermediate values once), as those of `coded_mr.theory`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, lcm

from coded_mr.errors import PlanError
from coded_mr.plan.model import Plan
from coded_mr.theory.fat_tree import LEVELS, FatTree, LevelLoad, Position, arity
from coded_mr.theory.tradeoff import cascaded_levels
from coded_mr.topology.fat_tree import Link, links, pieces, route

__all__ = [
    "Cables",
    "Flow",
    "count_cables",
    "flows",
    "level_maxima",
    "link_loads",
    "packet_amounts",
    "positions",
]

Flow = tuple[int, tuple[int, ...]]
"""A sender and the receivers of its packets, as ranks of a plan."""


@dataclass(frozen=True)
class Cables:
    """Hold what each of several cables alike carries: those above a subtree with so many servers in it."""

    level: str
    servers: int
    cables: int
    up: Fraction
    down: Fraction


def positions(plan: Plan, tree: FatTree, places: Sequence[int] | None = None) -> tuple[Position, ...]:
    """Return where each rank of a plan is, from the number of its place; without numbers, from the left.

    Raises PlanError unless every rank has a place of its own, UsageError for a place outside the tree.
    """
    numbers = range(plan.ranks) if places is None else places
    if len(numbers) != plan.ranks or len(set(numbers)) != plan.ranks:
        raise PlanError(f"{plan.ranks} ranks need as many different places in the tree, not {list(numbers)}")
    return tuple(map(tree.position, numbers))


def packet_amounts(plan: Plan) -> tuple[int, list[int]]:
    """Return a unit, and the length of each packet of a plan in the unit's parts of NT bits.

    A packet is `rows` times as long as its longest term, the share of its batch over its segments.
    """
    cuts = lcm(*{term.segments for packet in plan.packets for term in packet.terms})
    unit = lcm(*(batch.share.denominator for batch in plan.batches)) * cuts
    weight = [batch.share.numerator * (unit // batch.share.denominator) for batch in plan.batches]
    return unit, [
        packet.rows * max(len(term.partitions) * weight[term.batch] // term.segments for term in packet.terms)
        for packet in plan.packets
    ]


def flows(plan: Plan) -> dict[Flow, Fraction]:
    """Return the load that each sender multicasts to each set of receivers."""
    unit, amounts = packet_amounts(plan)
    sent: Counter[Flow] = Counter()
    for packet, amount in zip(plan.packets, amounts, strict=True):
        sent[packet.sender, packet.receivers] += amount
    return {flow: Fraction(amount, unit * plan.partitions) for flow, amount in sent.items()}


def link_loads(
    plan: Plan, tree: FatTree | None = None, places: Sequence[int] | None = None
) -> dict[Link, Fraction]:
    """Return the load of every link, both directions, idle ones too, by walking every piece of every packet.

    Default: the smallest tree for the plan's ranks. `places` and the errors are those of `positions`.
    """
    tree = tree or FatTree(arity(plan.ranks))
    where = positions(plan, tree, places)
    cut = list(pieces(tree))
    sent = flows(plan)
    unit = lcm(*(load.denominator for load in sent.values()))
    carried: Counter[Link] = Counter()
    for (sender, receivers), load in sent.items():
        amount = load.numerator * (unit // load.denominator)
        targets = [where[rank] for rank in receivers]
        for piece in cut:
            for link in route(tree, where[sender], targets, piece):
                carried[link] += amount
    whole = unit * len(cut)
    return {
        link: Fraction(carried[link], whole) for upward in links(tree) for link in (upward, upward.reverse)
    }


def level_maxima(loads: Mapping[Link, Fraction]) -> tuple[LevelLoad, ...]:
    """Return the largest loads of each level; `both` is the largest of a cable, not the sum of the others."""
    upward = {level: [link for link in loads if link.up and link.level == level] for level in LEVELS}
    return tuple(
        LevelLoad(
            level=level,
            up=max(loads[link] for link in found),
            down=max(loads[link.reverse] for link in found),
            both=max(loads[link] + loads[link.reverse] for link in found),
        )
        for level, found in upward.items()
    )


def count_cables(K: int, r: int, s: int = 1) -> tuple[Cables, ...]:
    """Count what cables carry when K servers fill the smallest tree from the left and run cascaded CDC.

    All l-subsets of servers exchange alike, so a cable's load depends only on n, the servers below it: up go
    their messages; down come those of the K-n others to groups that are not wholly elsewhere. There are 1,
    t/2 or (t/2)^2 cables above a server, edge switch or pod, which share evenly. Cables above nobody carry
    nothing and are left out. Raises UsageError unless r and s lie within 1..K.
    """
    levels = cascaded_levels(K, r, s)
    half = arity(K) // 2
    whole = r * comb(K, r) * comb(K, s)

    def sent_among(servers: int) -> int:
        return sum(g.messages * g.block * comb(servers, g.size - 1) for g in levels)

    sent = sent_among(K - 1)
    found = []
    for height, level in enumerate(LEVELS):
        alike = half**height
        for below, subtrees in ((alike, K // alike), (K % alike, 1)):
            if below and subtrees:
                elsewhere = sent_among(max(K - 1 - below, 0))
                up = Fraction(below * sent, whole * alike)
                down = Fraction((K - below) * (sent - elsewhere), whole * alike)
                found.append(Cables(level, below, subtrees * alike, up, down))
    return tuple(found)
