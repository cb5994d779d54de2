"""What a plan's tasks take on a machine, in whole ticks: exact like fractions, and many times faster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from math import lcm
from typing import NamedTuple

from coded_mr.plan.model import Plan
from coded_mr.simulate.machine import Machine

__all__ = ["Sending", "Work", "map_ends", "measure"]


class Sending(NamedTuple):
    """Hold the ticks of one multicast: one copy, the step from a receiver's copy to the next's, all of it."""

    copy: int
    step: int
    span: int


@dataclass(frozen=True)
class Work:
    """Hold the durations of a plan's tasks, in ticks of which `unit` are a second.

    Rank k maps batch b in batches[b] * slowness[k] ticks; packet n takes sendings[n]; reducing a partition
    takes `reduce`. coded is the load of all packets in units of QNT bits, wire the same times their beta.
    """

    unit: int
    batches: Sequence[int]
    slowness: Sequence[int]
    sendings: Sequence[Sending]
    reduce: int
    coded: Fraction
    wire: Fraction


def measure(plan: Plan, machine: Machine, repetition: int = 0) -> Work:
    """Return the durations of a plan's tasks, with the noise of one repetition."""
    kinds, whole = _kinds(plan)
    amounts = Counter(kinds)
    sizes = {kind: Fraction(kind[0], whole) for kind in amounts}
    times = {kind: _times(machine, sizes[kind], kind[1]) for kind in amounts}
    shares = {batch.share: machine.costs.map * batch.share for batch in plan.batches}
    slowness = list(islice(machine.slowness(repetition), plan.ranks))
    slow_unit = _denominator(slowness)
    reduce = machine.costs.reduce
    unit = lcm(
        slow_unit * _denominator(shares.values()),
        _denominator(time for pair in times.values() for time in pair),
        reduce.denominator,
    )
    mapping = {share: int(time * unit) // slow_unit for share, time in shares.items()}
    sendings = {kind: _sending(kind[1], *(int(time * unit) for time in times[kind])) for kind in amounts}
    return Work(
        unit=unit,
        batches=[mapping[batch.share] for batch in plan.batches],
        slowness=[int(factor * slow_unit) for factor in slowness],
        sendings=[sendings[kind] for kind in kinds],
        reduce=int(reduce * unit),
        coded=sum((sizes[kind] * n for kind, n in amounts.items()), Fraction(0)),
        wire=sum((sizes[kind] * n * machine.beta(kind[1]) for kind, n in amounts.items()), Fraction(0)),
    )


def map_ends(plan: Plan, work: Work) -> list[dict[int, int]]:
    """Return, for every rank, the tick at which each batch is mapped, in the order of `map_order`."""
    clocks = [0] * plan.ranks
    mapped: list[dict[int, int]] = [{} for _ in clocks]

    def append(rank: int, index: int) -> None:
        clocks[rank] += work.batches[index] * work.slowness[rank]
        mapped[rank][index] = clocks[rank]

    lacking = [set(mappers) for mappers in plan.mapped_by]
    for packet in plan.packets:
        for term in packet.terms:
            if lacking[term.batch]:
                for rank in lacking[term.batch].intersection((packet.sender, *packet.receivers)):
                    append(rank, term.batch)
                    lacking[term.batch].discard(rank)
    for index, ranks in enumerate(lacking):
        for rank in ranks:
            append(rank, index)
    return mapped


def _kinds(plan: Plan) -> tuple[list[tuple[int, int]], int]:
    """Return (size, receivers) of every packet, and how many of these units of size QNT bits are."""
    segments = lcm(*{term.segments for packet in plan.packets for term in packet.terms})
    unit = _denominator(batch.share for batch in plan.batches) * segments
    weights = [int(batch.share * unit) for batch in plan.batches]
    kinds = [
        (
            packet.rows * max(len(t.partitions) * weights[t.batch] // t.segments for t in packet.terms),
            len(packet.receivers),
        )
        for packet in plan.packets
    ]
    return kinds, unit * plan.partitions


def _times(machine: Machine, size: Fraction, receivers: int) -> tuple[Fraction, Fraction]:
    """Return the seconds of one copy, and of the step between the copies of two receivers."""
    copy = machine.copy_time(size)
    return copy, copy * (machine.beta(receivers) - 1) / max(1, receivers - 1)


def _sending(receivers: int, copy: int, step: int) -> Sending:
    return Sending(copy, step, copy + step * (receivers - 1))


def _denominator(values: Iterable[Fraction]) -> int:
    """Return the least common denominator."""
    return lcm(*{value.denominator for value in values})
