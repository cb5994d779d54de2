"""What the planner knows of a machine beside the three costs: multicasts, bookkeeping, cores, padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from coded_mr.theory.costs import Costs

__all__ = ["Machine"]


@dataclass(frozen=True)
class Machine:
    """Hold the costs of a job on a machine; with the defaults it is the paper's.

    costs    c_m, c_s, c_r, in seconds.
    beta     cost of a multicast to 1, 2, ... receivers, over that of a unicast: c_s(j) = c_s beta(j).
             The last value holds for more receivers; () is 1 for any number, as the paper has it.
    padding  length of a packet that combines 1, 2, ... values over their mean length; () is 1.
    packet   seconds that a packet takes beside its bytes.
    group    seconds to set up a multicast group.
    start    seconds that a shuffle takes beside its packets, if there are any.
    map_slots, reduce_slots  how many ranks' mapping, and reducing, gets done at the same time when all work;
             None: that of all.
    values   bytes of all intermediate values, QNT; 0: not known.
    transport  by which the multicasts were measured; None: any.
    """

    costs: Costs
    beta: tuple[Fraction, ...] = ()
    padding: tuple[Fraction, ...] = ()
    packet: Fraction = Fraction(0)
    group: Fraction = Fraction(0)
    start: Fraction = Fraction(0)
    map_slots: Fraction | None = None
    reduce_slots: Fraction | None = None
    values: int = 0
    transport: str | None = None

    def c_s(self, receivers: int) -> Fraction:
        """Return the seconds to multicast QNT bits to so many receivers each."""
        return self.costs.shuffle * _at(self.beta, receivers)

    def padded(self, members: int) -> Fraction:
        """Return how much longer a packet of so many values is than their mean."""
        return _at(self.padding, members)

    def mapping(self, mapped: Fraction, peak: Fraction) -> Fraction:
        """Return the seconds to map the files so many times in all, and this share of them on one rank."""
        return self.costs.map * _crowded(mapped, peak, self.map_slots)

    def reducing(self, partitions: Fraction, most: Fraction) -> Fraction:
        """Return the seconds to reduce so many partitions in all, and so many on one rank."""
        return self.costs.reduce * _crowded(partitions, most, self.reduce_slots)


def _crowded(busy: Fraction, longest: Fraction, slots: Fraction | None) -> Fraction:
    """Return the work that decides how long a stage takes: the longest share, or all over the slots."""
    return longest if slots is None else max(longest, busy / slots)


def _at(values: Sequence[Fraction], count: int) -> Fraction:
    return values[min(count, len(values)) - 1] if values else Fraction(1)
