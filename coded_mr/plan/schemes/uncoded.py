"""Every file mapped once, every intermediate value sent to the one solver that lacks it."""

from __future__ import annotations

from fractions import Fraction

from coded_mr.errors import PlanError
from coded_mr.plan.model import Batch, Packet, Plan, Term
from coded_mr.plan.schedule import bundles

__all__ = ["uncoded"]


def uncoded(partitions: int, solvers: int, helpers: int = 0) -> Plan:
    """Plan the plain all-to-all shuffle: K = solvers + helpers ranks map 1/K of the input each.

    Its communication load is 1 - 1/K for any K (each value is missing at its solver unless that solver
    mapped it). In step d rank i sends to rank (i + d) mod K, so that no two senders meet at one receiver.

    Raises PlanError when the numbers fit no such plan.
    """
    if partitions < 1 or not 1 <= solvers <= partitions:
        raise PlanError(f"{solvers} solvers cannot share {partitions} partitions: 1 <= solvers <= partitions")
    if helpers < 0:
        raise PlanError(f"the number of helpers cannot be {helpers}")
    ranks = solvers + helpers
    reduces = (*bundles(partitions, solvers), *((),) * helpers)
    return Plan(
        scheme="uncoded",
        partitions=partitions,
        reduces=reduces,
        batches=tuple(Batch((rank,), Fraction(1, ranks)) for rank in range(ranks)),
        packets=tuple(
            Packet(sender, (receiver,), (Term(reduces[receiver], sender),))
            for distance in range(1, ranks)
            for sender in range(ranks)
            if (receiver := (sender + distance) % ranks) < solvers
        ),
    )
