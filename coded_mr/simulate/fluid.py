"""Simulation of a design from its loads: for sizes at which nobody can write all packets down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice
from math import comb, lgamma
from typing import Literal, NamedTuple

from coded_mr.errors import UsageError
from coded_mr.plan.model import Plan
from coded_mr.plan.schemes import shared, solver_helper, uncoded
from coded_mr.simulate.machine import Machine
from coded_mr.theory.load import Implementation, check_implementation, helpers_needed

__all__ = [
    "Design",
    "Slowest",
    "Times",
    "coded_design",
    "is_countable",
    "predict",
    "shuffle_time",
    "uncoded_design",
]

# Beyond this many ranks, drawing a random factor for each takes too long.
_RANKS = 1_000_000
# e^230, about 1e100 packets of each helper, with an overhead each, still take a time that a float can hold.
_LOG_PACKETS = 230.0


class Times(NamedTuple):
    """Hold the seconds of the stages; in parallel, map and shuffle overlap in the total."""

    map: Fraction
    shuffle: Fraction
    reduce: Fraction
    total: Fraction


@dataclass(frozen=True)
class Design:
    """Describe Q solvers, one a partition, and helpers, by what they map and send.

    parts is (degree, fraction of the files). Of "solver-helper" a part is on so many solvers, and on one
    helper unless the degree is Q; of "uncoded" it is on any one rank (degree 0) or on all solvers (Q).
    helpers None is the limit of ever more, each of which maps nothing.
    """

    scheme: Literal["solver-helper", "uncoded"]
    partitions: int
    helpers: int | None
    parts: tuple[tuple[int, Fraction], ...]

    @property
    def ranks(self) -> int | None:
        """Return K, the solvers and the helpers; None in the limit."""
        return None if self.helpers is None else self.partitions + self.helpers

    @property
    def _helpers(self) -> int:
        if self.helpers is None:
            raise UsageError("endless helpers have no plan: say how many there are")
        return self.helpers

    @cached_property
    def solver_share(self) -> Fraction:
        """Return the fraction of the files that one solver maps."""
        if self.scheme == "solver-helper":
            return sum((Fraction(r * part, self.partitions) for r, part in self.parts), Fraction(0))
        return 1 - self.sent + self.helper_share

    @cached_property
    def helper_share(self) -> Fraction:
        """Return the fraction of the files that one helper maps; for "uncoded", that any rank maps alone."""
        among = self.helpers if self.scheme == "solver-helper" else self.ranks
        return self.sent / among if among else Fraction(0)

    @cached_property
    def sent(self) -> Fraction:
        """Return the fraction of the files that not all solvers map."""
        return sum((part for r, part in self.parts if r < self.partitions), Fraction(0))

    @cached_property
    def traffic(self) -> tuple[tuple[int, Fraction], ...]:
        """Return (receivers of a packet, load in units of QNT bits)."""
        Q = self.partitions
        if self.scheme == "uncoded":
            return ((1, 1 - self.solver_share),) if self.sent else ()
        return tuple((r + 1, part * Fraction(Q - r, Q * (r + 1))) for r, part in self.parts if r < Q)

    @property
    def count(self) -> int:
        """Return how many packets there are."""
        return sum(self.packets(receivers) for receivers, _ in self.traffic)

    def packets(self, receivers: int) -> int:
        """Return how many packets have so many receivers; raises UsageError in the limit."""
        helpers = self._helpers
        if self.scheme == "uncoded":
            return self.partitions * (self.partitions + helpers - 1)
        return helpers * comb(self.partitions, receivers)

    def build(self) -> Plan:
        """Return the plan itself; raises UsageError in the limit."""
        Q, helpers = self.partitions, self._helpers
        plans = [
            (
                uncoded(Q, Q, helpers)
                if self.scheme == "uncoded" and r < Q
                else solver_helper(Q, Q, r, helpers if r < Q else 0),
                part,
            )
            for r, part in self.parts
        ]
        return plans[0][0] if len(plans) == 1 else shared(plans, self.scheme)


def coded_design(
    Q: int, r: int | Fraction, implementation: Implementation = "sequential", helpers: int | None = None
) -> Design:
    """Return the solver-helper scheme at computation load r, with as few helpers as do not delay the map.

    Between whole loads the files are shared out between the neighbours (parallel only). A number of helpers
    given is used instead, but none at r = Q. Raises UsageError for numbers out of range.
    """
    load = Fraction(r)
    needed = helpers_needed(Q, load, implementation)
    if helpers is not None:
        if helpers < 1 and load < Q:
            raise UsageError(f"computation load {load} of {Q} partitions needs a helper: give 1 or more")
        needed = helpers if load < Q else 0
    low = load.numerator // load.denominator
    parts = ((low + 1, load - low), (low, 1 - load + low))
    return Design("solver-helper", Q, needed, tuple(part for part in parts if part[1]))


def uncoded_design(Q: int, helpers: int | None, peak: Fraction) -> Design:
    """Return the uncoded design in which every solver maps the fraction `peak` of the files.

    From 1/K (0 in the limit), where each file is mapped once and every value is sent to its solver, to 1,
    where every solver maps everything; between them the files are shared out. Raises UsageError outside.
    """
    least = Fraction(0) if helpers is None else Fraction(1, Q + helpers)
    if not least <= peak <= 1:
        raise UsageError(f"a solver cannot map {peak} of the files: the fraction lies between {least} and 1")
    once = (1 - peak) / (1 - least) if least < 1 else Fraction(0)
    parts = ((0, once), (Q, 1 - once))
    return Design("uncoded", Q, helpers, tuple(part for part in parts if part[1]))


class Slowest:
    """The slowest map factor among the solvers, and among the first helpers, in one repetition."""

    def __init__(self, machine: Machine, solvers: int, repetition: int = 0) -> None:
        """Draw the solvers' factors."""
        self._named = None if machine.noise.coefficient else max(0, len(machine.speeds) - solvers) + 1
        self._factors: Iterator[Fraction] = machine.slowness(repetition)
        self.solvers = max(islice(self._factors, solvers))
        self._helpers: list[Fraction] = []

    def helpers(self, count: int) -> Fraction:
        """Return the slowest of the first `count` helpers, 0 of none; raises UsageError for too many."""
        # Without noise all ranks behind the last that has a speed of its own are alike.
        needed = count if self._named is None else min(count, self._named)
        if needed > _RANKS:
            raise UsageError(f"noise on {needed} helpers: at most {_RANKS} can be drawn")
        while len(self._helpers) < needed:
            self._helpers.append(max([next(self._factors), *self._helpers[-1:]]))
        return self._helpers[needed - 1] if needed else Fraction(0)


def predict(
    design: Design, machine: Machine, implementation: Implementation, slowest: Slowest | None = None
) -> Times:
    """Return the times of a design whose files and packets are endlessly small.

    `slowest` holds the noise, that of repetition 0 when there is none; its machine and solvers must be these.
    With ports, the shuffle takes as long as the busiest port. Sequential times are those of
    `simulate`; parallel ones are never above, and approached as batches become more.
    Raises UsageError for an unknown implementation.
    """
    check_implementation(implementation)
    slowest = Slowest(machine, design.partitions) if slowest is None else slowest
    t_map = design.solver_share * slowest.solvers
    if design.helpers:
        t_map = max(t_map, design.helper_share * slowest.helpers(design.helpers))
    t_map *= machine.costs.map
    t_shuffle = shuffle_time(design, machine)
    both = t_map + t_shuffle if implementation == "sequential" else max(t_map, t_shuffle)
    return Times(t_map, t_shuffle, machine.costs.reduce, both + machine.costs.reduce)


def is_countable(design: Design, machine: Machine) -> bool:
    """Tell whether the overhead of all packets is a time that can be written down."""
    if not machine.overhead:
        return True
    if design.helpers is None:
        return False
    Q = design.partitions
    return design.scheme == "uncoded" or all(
        lgamma(Q + 1) - lgamma(j + 1) - lgamma(Q - j + 1) < _LOG_PACKETS for j, _ in design.traffic
    )


def shuffle_time(design: Design, machine: Machine) -> Fraction:
    """Return the seconds that the shared link, or the busiest port, is occupied.

    Raises UsageError for a machine with overhead and a design of too many packets (see `is_countable`).
    """
    if not is_countable(design, machine):
        many = (
            "too many packets, each" if design.helpers is not None else "endless helpers send packets, each"
        )
        raise UsageError(f"{many} with an overhead: choose another computation load or number of helpers")
    sending = receiving = Fraction(0)
    for receivers, load in design.traffic:
        copy = machine.copy_time(load, design.packets(receivers) if machine.overhead else 0)
        sending += copy * machine.beta(receivers)
        receiving += copy * receivers / design.partitions
    if machine.network == "shared":
        return sending
    senders = design.helpers if design.scheme == "solver-helper" else design.ranks
    return max(receiving, sending / senders if senders else Fraction(0))
