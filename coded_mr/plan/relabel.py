"""The same plan, played by other ranks."""

from __future__ import annotations

from collections.abc import Sequence

from coded_mr.errors import PlanError
from coded_mr.plan.model import Batch, Packet, Plan

__all__ = ["relabelled"]


def relabelled(plan: Plan, ranks: Sequence[int]) -> Plan:
    """Return the plan in which `ranks[k]` plays the part of rank k; those between that play none are spares.

    Partitions, batches, packets and their order stay, and with them the result. Raises PlanError unless the
    ranks are as many as the plan's, different, and at least 0.
    """
    if len(ranks) != plan.ranks or len(set(ranks)) != plan.ranks or min(ranks) < 0:
        raise PlanError(f"{plan.ranks} parts need as many different ranks, not {list(ranks)}")
    part_of = {rank: part for part, rank in enumerate(ranks)}
    return Plan(
        scheme=plan.scheme,
        partitions=plan.partitions,
        reduces=tuple(
            plan.reduces[part_of[rank]] if rank in part_of else () for rank in range(max(ranks) + 1)
        ),
        batches=tuple(
            Batch(tuple(sorted(ranks[part] for part in batch.mappers)), batch.share) for batch in plan.batches
        ),
        packets=tuple(
            Packet(
                ranks[packet.sender],
                tuple(sorted(ranks[part] for part in packet.receivers)),
                packet.terms,
                packet.rows,
            )
            for packet in plan.packets
        ),
    )
