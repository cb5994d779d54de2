"""Stretches of the schedule in which few enough communicators live at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from coded_mr.plan.model import Packet

__all__ = ["MAX_LIVE", "Epoch", "epochs"]

# Groups that a rank keeps at once. MPICH has 2,046 context ids a process, of which an unlucky order of
# agreement wastes some; making a group anew costs about as much as sending one small packet.
MAX_LIVE = 1000


@dataclass(frozen=True)
class Epoch:
    """Name a run of packets [start, stop) whose groups live at the same time, in order of first use."""

    start: int
    stop: int
    groups: tuple[tuple[int, ...], ...]


def epochs(packets: Sequence[Packet], max_live: int = MAX_LIVE, *, one_sender: bool = False) -> list[Epoch]:
    """Cut the schedule so that no rank is in more than `max_live` (at least 1) groups of an epoch.

    With `one_sender` an epoch ends, too, where the next packet has another sender. Every rank computes the
    same cuts. An epoch's packets all complete before its groups are freed.
    """
    cuts: list[Epoch] = []
    start = 0
    live: dict[tuple[int, ...], None] = {}
    count: Counter[int] = Counter()
    for number, packet in enumerate(packets):
        group = packet.receivers
        joins = len(group) > 1 and group not in live
        if (joins and any(count[member] >= max_live for member in group)) or (
            one_sender and packet.sender != packets[start].sender
        ):
            cuts.append(Epoch(start, number, tuple(live)))
            start, live, count = number, {}, Counter()
            joins = len(group) > 1
        if not joins:
            continue
        live[group] = None
        count.update(group)
    return [*cuts, Epoch(start, len(packets), tuple(live))]
