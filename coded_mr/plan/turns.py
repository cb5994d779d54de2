"""Plans in which one rank sends at a time, as in the published measurements of coded shuffles."""

from __future__ import annotations

from dataclasses import replace

from coded_mr.plan.model import Plan

__all__ = ["in_turns"]


def in_turns(plan: Plan) -> Plan:
    """Return the plan with the packets of each sender together, the senders in the order of their ranks.

    Source: Li, Supittayapornpong, Maddah-Ali, Avestimehr 2017 (Coded TeraSort), the serial shuffle.
    """
    return replace(plan, packets=tuple(sorted(plan.packets, key=lambda packet: packet.sender)))
