"""Simulation of an explicit plan, packet by packet, in exact time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from typing import NamedTuple

from coded_mr.plan.model import Packet, Plan
from coded_mr.simulate.machine import Machine
from coded_mr.simulate.work import Sending, map_ends, measure
from coded_mr.theory.load import Implementation, check_implementation

__all__ = ["Interval", "Trace", "simulate"]


class Interval(NamedTuple):
    """Hold when something starts and ends, in seconds from the start of the job."""

    start: Fraction
    end: Fraction


@dataclass(frozen=True)
class Trace:
    """Hold what happened in one simulated run.

    map, shuffle, reduce  per rank, from the start of its first task of that stage (a packet sent or received)
                 to the end of its last; None when it has none.
    total        seconds until the last rank is done.
    utilisation  how much of the time from the first packet's start to the last one's arrival the shared
                 link, or the busiest port, is occupied; 0 without packets.
    coded        load L in units of QNT bits: every packet counted once.
    wire         the same with every packet counted beta times.
    """

    implementation: Implementation
    map: tuple[Interval | None, ...]
    shuffle: tuple[Interval | None, ...]
    reduce: tuple[Interval | None, ...]
    total: Fraction
    utilisation: Fraction
    coded: Fraction
    wire: Fraction


def simulate(
    plan: Plan, machine: Machine, implementation: Implementation = "sequential", repetition: int = 0
) -> Trace:
    """Run a plan that `verify` accepts on a machine, and return what happened.

    Every rank maps its batches in the order of `map_order`. Sequential: the shuffle starts when all maps have
    ended, the reduces when the last packet has arrived. Parallel: a packet may leave once its sender has
    mapped the batches in it; a solver reduces once it has all packets and its own map, which decodes them.
    On the shared link, and at every port that sends, the first ready packet of the schedule goes next. A port
    that receives takes packets in order of their start, and a switch keeps them until then: of j receivers
    the first gets its copy at once, the last beta - 1 copies later, the others evenly between.

    `repetition` chooses the noise. Raises UsageError for an unknown implementation.
    """
    check_implementation(implementation)
    work = measure(plan, machine, repetition)
    mapped = map_ends(plan, work)
    finished = [max(ends.values(), default=0) for ends in mapped]
    together = implementation == "sequential"
    if together:
        ready = [max(finished)] * len(plan.packets)
    else:
        ready = [max(mapped[p.sender][term.batch] for term in p.terms) for p in plan.packets]
    carry = _on_one_link if machine.network == "shared" else _through_ports
    traffic = _Traffic()
    busiest = carry(plan.packets, work.sendings, ready, traffic)
    begins = [max(end, traffic.arrivals.get(rank, 0)) for rank, end in enumerate(finished)]
    if together:
        begins = [max(begins)] * plan.ranks
    reduces = {k: (begins[k], begins[k] + work.reduce * len(plan.reduces[k])) for k in plan.solvers}
    maps = {rank: (0, end) for rank, end in enumerate(finished) if plan.batches_of[rank]}
    return Trace(
        implementation=implementation,
        map=_intervals(work.unit, maps, plan.ranks),
        shuffle=_intervals(work.unit, traffic.spans, plan.ranks),
        reduce=_intervals(work.unit, reduces, plan.ranks),
        total=Fraction(max(end for _, end in reduces.values()), work.unit),
        utilisation=Fraction(busiest, traffic.length or 1),
        coded=work.coded,
        wire=work.wire,
    )


class _Traffic:
    """From when to when each rank sends or receives, and when its last packet arrives."""

    def __init__(self) -> None:
        self.spans: dict[int, tuple[int, int]] = {}
        self.arrivals: dict[int, int] = {}

    def occupy(self, rank: int, start: int, end: int) -> None:
        first, last = self.spans.get(rank, (start, end))
        self.spans[rank] = min(first, start), max(last, end)

    def receive(self, rank: int, start: int, end: int) -> None:
        self.occupy(rank, start, end)
        self.arrivals[rank] = max(self.arrivals.get(rank, 0), end)

    @property
    def length(self) -> int:
        """Return the time from the first packet's start to the last one's arrival."""
        return max((end for _, end in self.spans.values()), default=0) - min(
            (start for start, _ in self.spans.values()), default=0
        )


def _serve(
    numbers: Iterable[int], ready: Sequence[int], sendings: Sequence[Sending]
) -> Iterator[tuple[int, int]]:
    """Yield (start, packet) of packets sent one after another, the first ready one of the schedule next."""
    queue = sorted(numbers, key=ready.__getitem__, reverse=True)
    waiting: list[int] = []
    clock = 0
    while queue or waiting:
        if not waiting:
            clock = max(clock, ready[queue[-1]])
        while queue and ready[queue[-1]] <= clock:
            heappush(waiting, queue.pop())
        number = heappop(waiting)
        yield clock, number
        clock += sendings[number].span


def _on_one_link(
    packets: Sequence[Packet], sendings: Sequence[Sending], ready: Sequence[int], traffic: _Traffic
) -> int:
    """Send everything over one link; return how long it is occupied."""
    for start, number in _serve(range(len(packets)), ready, sendings):
        end = start + sendings[number].span
        traffic.occupy(packets[number].sender, start, end)
        for rank in packets[number].receivers:
            traffic.receive(rank, start, end)
    return sum(sending.span for sending in sendings)


def _through_ports(
    packets: Sequence[Packet], sendings: Sequence[Sending], ready: Sequence[int], traffic: _Traffic
) -> int:
    """Send everything through the ports of the ranks; return how long the busiest is occupied."""
    outgoing: dict[int, list[int]] = {}
    for number, packet in enumerate(packets):
        outgoing.setdefault(packet.sender, []).append(number)
    free: dict[int, int] = {}
    received: dict[int, int] = {}
    for start, number in sorted(
        served for numbers in outgoing.values() for served in _serve(numbers, ready, sendings)
    ):
        sender, receivers = packets[number][:2]
        copy, step, span = sendings[number]
        traffic.occupy(sender, start, start + span)
        for place, rank in enumerate(receivers):
            begin = max(start + place * step, free.get(rank, 0))
            free[rank] = begin + copy
            received[rank] = received.get(rank, 0) + copy
            traffic.receive(rank, begin, begin + copy)
    sent = [sum(sendings[number].span for number in numbers) for numbers in outgoing.values()]
    return max([*sent, *received.values()], default=0)


def _intervals(unit: int, spans: Mapping[int, tuple[int, int]], ranks: int) -> tuple[Interval | None, ...]:
    """Return spans of ticks as seconds, for every rank."""
    return tuple(
        Interval(*(Fraction(tick, unit) for tick in spans[rank])) if rank in spans else None
        for rank in range(ranks)
    )
