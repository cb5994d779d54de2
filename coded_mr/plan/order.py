"""The order in which a rank maps its batches: what packets need first comes first."""

from __future__ import annotations

from coded_mr.plan.model import Plan

__all__ = ["map_order"]


def map_order(plan: Plan, rank: int) -> tuple[int, ...]:
    """Return the batches of a rank in the order in which the schedule needs them, the others last.

    A batch is needed by the first packet that the rank encodes it for, or decodes with it.
    """
    mine = plan.batches_of[rank]
    wanted: dict[int, None] = {}
    lacking = set(mine)
    for packet in plan.packets:
        if not lacking:
            break
        if packet.sender == rank or rank in packet.receivers:
            for term in packet.terms:
                if term.batch in lacking:
                    wanted[term.batch] = None
                    lacking.discard(term.batch)
    return (*wanted, *(batch for batch in mine if batch in lacking))
