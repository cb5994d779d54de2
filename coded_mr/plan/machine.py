"""What the planner knows of a machine beside the three costs: multicasts, bookkeeping, cores, padding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from coded_mr.theory.costs import Costs

__all__ = ["Crew", "Machine", "Slots"]

Slots: TypeAlias = tuple[tuple[int, Fraction], ...]


class Crew(NamedTuple):
    """Count ranks that have the same work."""

    ranks: int
    work: Fraction


@dataclass(frozen=True)
class Machine:
    """Hold the costs of a job on a machine; with the defaults it is the paper's.

    costs    c_m, c_s, c_r, in seconds.
    beta     cost of a multicast to 1, 2, ... receivers, over that of a unicast: c_s(j) = c_s beta(j), with
             all ranks sending. The last value holds for more receivers; () is 1, as the paper has it.
    alone    the same with one rank sending, which has only its own port to the network; () is no limit.
    hosts    the host of every rank, as a number, where there are several: ranks on a host share its port.
    padding  length of a packet that combines 1, 2, ... values over their mean length; () is 1.
    packet   seconds that a packet takes beside its bytes.
    group    seconds to set up a multicast group.
    start    seconds that a shuffle takes beside its packets, if there are any.
    map_slots, reduce_slots  (n, how many ranks' mapping, or reducing, gets done when n of them work at once),
             from 1 on, ascending; between two of them as if each rank more did its work until they do those
             of the second. () is n.
    values   bytes of all intermediate values, QNT; 0: not known.
    growth   g: with b batches there are (b / batches)^g times as many bytes of them, where a job combines the
             values of a batch. The costs are those for `batches`.
    map_growth  h: to map them in b batches takes (batches / b)^h times as long.
    transport  by which the multicasts were measured; None: any.
    """

    costs: Costs
    beta: tuple[Fraction, ...] = ()
    alone: tuple[Fraction, ...] = ()
    hosts: tuple[int, ...] = ()
    padding: tuple[Fraction, ...] = ()
    packet: Fraction = Fraction(0)
    group: Fraction = Fraction(0)
    start: Fraction = Fraction(0)
    map_slots: Slots = ()
    reduce_slots: Slots = ()
    values: int = 0
    growth: float = 0.0
    map_growth: float = 0.0
    batches: int = 1
    transport: str | None = None

    def c_s(self, receivers: int, senders: range, solvers: range) -> Fraction:
        """Return the seconds to multicast QNT bits to so many of the solvers each, by these ranks.

        What all ranks together can move limits it, the port of the busiest sender, or that of a receiver.
        """
        most = _at(self.beta, receivers)
        if self.alone:
            outward = _at(self.alone, receivers) * self._at_one_port(senders)
            inward = _at(self.alone, 1) * min(receivers * self._at_one_port(solvers), Fraction(1))
            most = max(most, outward, inward)
        return self.costs.shuffle * most

    def _at_one_port(self, ranks: range) -> Fraction:
        """Return the largest part of some ranks' traffic that passes one port."""
        if not self.hosts:
            return Fraction(1, len(ranks))
        return Fraction(max(Counter(self.hosts[rank] for rank in ranks).values()), len(ranks))

    def padded(self, members: int) -> Fraction:
        """Return how much longer a packet of so many values is than their mean."""
        return _at(self.padding, members)

    def grown(self, batches: int) -> Fraction:
        """Return the bytes of all intermediate values with so many batches, over those that costs are for."""
        return _power(Fraction(batches, self.batches), self.growth)

    def mapping(self, batches: int, *crews: Crew) -> Fraction:
        """Return the seconds until all have mapped their shares of the files, in so many batches in all."""
        slower = _power(Fraction(self.batches, batches), self.map_growth)
        return self.costs.map * slower * _crowded(crews, self.map_slots)

    def reducing(self, *crews: Crew) -> Fraction:
        """Return the seconds until all have reduced their numbers of partitions."""
        return self.costs.reduce * _crowded(crews, self.reduce_slots)


def _power(base: Fraction, exponent: float) -> Fraction:
    return Fraction(float(base) ** exponent).limit_denominator(10**6) if exponent else Fraction(1)


def _crowded(crews: Sequence[Crew], slots: Slots) -> Fraction:
    """Return how long work takes, in the time that a unit of it takes one rank alone.

    Those with less work are done first, and then disturb the others no more.
    """
    working = sorted((crew for crew in crews if crew.ranks and crew.work), key=lambda crew: crew.work)
    busy = sum(crew.ranks for crew in working)
    time = done = Fraction(0)
    for crew in working:
        time += (crew.work - done) * busy / _served(busy, slots)
        done = crew.work
        busy -= crew.ranks
    return time


def _served(busy: int, slots: Slots) -> Fraction:
    """Return how many ranks' work gets done when so many work."""
    if not slots:
        return Fraction(busy)
    for (few, low), (many, high) in pairwise(slots):
        if few <= busy <= many:
            return min(low * Fraction(busy, few), high)
    return slots[-1][1]


def _at(values: Sequence[Fraction], count: int) -> Fraction:
    return values[min(count, len(values)) - 1] if values else Fraction(1)
