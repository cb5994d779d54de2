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
    slots    ranks that can compute at the same time; None: all of them.
    values   bytes of all intermediate values, QNT; 0: not known.
    """

    costs: Costs
    beta: tuple[Fraction, ...] = ()
    padding: tuple[Fraction, ...] = ()
    packet: Fraction = Fraction(0)
    group: Fraction = Fraction(0)
    slots: int | None = None
    values: int = 0

    def c_s(self, receivers: int) -> Fraction:
        """Return the seconds to multicast QNT bits to so many receivers each."""
        return self.costs.shuffle * _at(self.beta, receivers)

    def padded(self, members: int) -> Fraction:
        """Return how much longer a packet of so many values is than their mean."""
        return _at(self.padding, members)

    def crowding(self, busy: Fraction, longest: Fraction) -> Fraction:
        """Return the work that decides how long a stage takes: the longest share, or all over the slots."""
        return longest if self.slots is None else max(longest, busy / self.slots)


def _at(values: Sequence[Fraction], count: int) -> Fraction:
    return values[min(count, len(values)) - 1] if values else Fraction(1)
