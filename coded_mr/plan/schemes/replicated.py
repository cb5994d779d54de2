"""Every file mapped by several ranks, every value sent by itself: replication without coding."""

from __future__ import annotations

from fractions import Fraction

from coded_mr.errors import PlanError
from coded_mr.plan.model import Batch, Packet, Plan, Term
from coded_mr.plan.schemes.dealing import deal_to_all

__all__ = ["replicated"]


def replicated(partitions: int, ranks: int, r: int) -> Plan:
    """Plan the uncoded shuffle of files that are each on r of K ranks: the load is 1 - r/K.

    There are K batches; batch b is mapped by the ranks b, b+1, ..., b+r-1 modulo K (at r = K one batch is
    enough). Rank b sends batch b to the K-r ranks that lack it, one at a time: every rank sends and receives
    K-r packets, and at every distance d = r..K-1 no two senders meet at one receiver. Without coding there
    is no padding, so the load holds for bundles of any lengths. r = 1 is `uncoded`.

    Raises PlanError unless 1 <= r <= ranks <= partitions.
    """
    reduces = deal_to_all(partitions, ranks, "replicated")
    if not 1 <= r <= ranks:
        raise PlanError(f"computation load r={r} is outside 1..{ranks}, the number of ranks")
    starts = range(ranks if r < ranks else 1)
    return Plan(
        scheme="replicated",
        partitions=partitions,
        reduces=reduces,
        batches=tuple(
            Batch(tuple(sorted((b + step) % ranks for step in range(r))), Fraction(1, len(starts)))
            for b in starts
        ),
        packets=tuple(
            Packet(sender, (receiver,), (Term(reduces[receiver], sender),))
            for distance in range(r, ranks)
            for sender in range(ranks)
            for receiver in [(sender + distance) % ranks]
        ),
    )
