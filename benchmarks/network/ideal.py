"""What the theory says of a shuffle on the emulated networks: the load of the busiest link."""

from __future__ import annotations

from fractions import Fraction

from coded_mr.plan.model import Plan
from coded_mr.topology.loads import flows

__all__ = ["busiest_link"]


def busiest_link(plan: Plan, network: str, hosts: int) -> Fraction:
    """Return the largest load of a link, over all intermediate bytes; rank k is on host k mod `hosts`.

    A multicast crosses each link that leads to a receiver once, as the papers assume, and none within a
    host. A bus is one link, and carries L (1 - what stays within a host); a host on a switch has one link
    in each direction.
    """
    carried: dict[tuple[str, int], Fraction] = {}
    for (sender, receivers), load in flows(plan).items():
        home = sender % hosts
        away = {receiver % hosts for receiver in receivers} - {home}
        if not away:
            continue
        links = {("bus", 0)} if network == "bus" else {("up", home), *(("down", host) for host in away)}
        for link in links:
            carried[link] = carried.get(link, Fraction(0)) + load
    return max(carried.values(), default=Fraction(0))
