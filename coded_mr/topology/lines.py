"""What each line of a network of switches carries when a plan is executed, by how packets travel.

Loads are exact, in units of QNT bits (all intermediate values once), as those of `coded_mr.theory`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal, get_args

from coded_mr.plan.model import Packet, Plan
from coded_mr.topology.loads import packet_amounts
from coded_mr.topology.sites import Sites
from coded_mr.topology.switches import Line

__all__ = ["TRAVELS", "Burden", "Travel", "burden", "line_loads"]

Travel = Literal["multicast", "relay", "copies"]
"""How a packet reaches its receivers: switches copy it, each passes it on, or the sender sends copies."""

TRAVELS: tuple[Travel, ...] = get_args(Travel)


@dataclass(frozen=True)
class Burden:
    """Hold what a network carries: on all lines together, and the busiest (None: no line carries)."""

    total: Fraction
    busiest: Line | None
    most: Fraction

    def __str__(self) -> str:
        """Return it for people."""
        if self.busiest is None:
            return "nothing between hosts"
        line = f"{self.busiest.tail} to {self.busiest.head}"
        return f"{float(self.total):.4f} on all lines, {float(self.most):.4f} on the busiest ({line})"


def line_loads(plan: Plan, sites: Sites, travel: Travel) -> dict[Line, Fraction]:
    """Return the load of every line, both directions, idle ones too.

    Rank k of the plan is rank k of the sites. Header bytes do not count.
    """
    unit, amounts = packet_amounts(plan)
    carried: Counter[Line] = Counter()
    for number, (packet, amount) in enumerate(zip(plan.packets, amounts, strict=True)):
        for line in _lines(sites, packet, number, travel):
            carried[line] += amount
    whole = unit * plan.partitions
    both = (line for up in sites.tree.lines for line in (up, up.reverse))
    return {line: Fraction(carried[line], whole) for line in both}


def burden(loads: Mapping[Line, Fraction]) -> Burden:
    """Add up loads and find the busiest line."""
    most = max(loads.values(), default=Fraction(0))
    busiest = next((line for line, load in loads.items() if load == most > 0), None)
    return Burden(sum(loads.values(), Fraction(0)), busiest, most)


def _lines(sites: Sites, packet: Packet, number: int, travel: Travel) -> Iterable[Line]:
    if travel == "multicast":
        return sites.multicast(packet.sender, packet.receivers)
    if travel == "copies":
        return (line for receiver in packet.receivers for line in sites.way(packet.sender, receiver))
    order = (packet.sender, *sites.relay(packet.sender, packet.receivers, number))
    return (line for tail, head in pairwise(order) for line in sites.way(tail, head))
