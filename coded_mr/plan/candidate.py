"""Plans by their numbers: what the planner compares before any is written down."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from coded_mr.plan.ingredient import Ingredient, Numbers, Team, numbers_of, plan_of, senders_of
from coded_mr.plan.machine import Crew, Machine
from coded_mr.plan.model import Plan
from coded_mr.plan.schemes import shared, sliced
from coded_mr.text import counted, fraction_text
from coded_mr.theory.load import Implementation

__all__ = ["Candidate"]

# Slices let packets leave early; more than some packets in all would cost more than the overlap gains.
_MOST_SLICES = 16
_SLICED_PACKETS = 2000


@dataclass(frozen=True)
class Candidate:
    """Describe one feasible plan: exact loads, and times predicted for a machine."""

    scheme: str
    team: Team
    ingredients: tuple[Ingredient, ...]
    machine: Machine
    implementation: Implementation = "sequential"

    @property
    def partitions(self) -> int:
        """Return Q."""
        return self.team.partitions

    @property
    def solvers(self) -> int:
        """Return how many ranks reduce."""
        return self.team.solvers

    @property
    def helpers(self) -> int:
        """Return how many ranks map and send only."""
        return self.team.helpers

    @property
    def ranks(self) -> int:
        """Return the ranks that the plan needs."""
        return self.team.solvers + self.team.helpers

    @cached_property
    def _shares(self) -> tuple[tuple[Fraction, Numbers], ...]:
        return tuple((part.fraction, numbers_of(part, self.team)) for part in self.ingredients)

    @cached_property
    def r(self) -> Fraction:
        """Return the computation load: how many solvers map a file, on average."""
        return self._solver_share * self.team.solvers

    @cached_property
    def peak(self) -> Fraction:
        """Return p, the largest fraction of the files that one rank maps."""
        return max(self._solver_share, self._helper_share)

    @cached_property
    def traffic(self) -> tuple[tuple[int, Fraction], ...]:
        """Return (receivers, load) of the packets, without the padding of values of unequal length."""
        loads: dict[int, Fraction] = {}
        for fraction, numbers in self._shares:
            if numbers.load:
                loads[numbers.receivers] = loads.get(numbers.receivers, Fraction(0)) + fraction * numbers.load
        return tuple(sorted(loads.items()))

    @property
    def load(self) -> Fraction:
        """Return L."""
        return sum((load for _, load in self.traffic), Fraction(0))

    @cached_property
    def slices(self) -> int:
        """Return in how many slices of the files the plan is carried out: several to overlap."""
        packets = sum(numbers.packets for _, numbers in self._shares)
        if self.implementation == "sequential" or not packets:
            return 1
        return max(min(_MOST_SLICES, _SLICED_PACKETS // packets), 1)

    @cached_property
    def packets(self) -> int:
        """Return how many packets travel."""
        return sum(numbers.packets for _, numbers in self._shares) * self.slices

    @cached_property
    def batches(self) -> int:
        """Return how many batches the files are divided into."""
        return sum(numbers.batches for _, numbers in self._shares) * self.slices

    @cached_property
    def _growth(self) -> Fraction:
        return self.machine.grown(self.batches)

    @cached_property
    def groups(self) -> int:
        """Return how many multicast groups there are at most."""
        return sum(numbers.groups for _, numbers in self._shares)

    @property
    def most_partitions(self) -> int:
        """Return the most partitions that one solver reduces."""
        return -(-self.team.partitions * self.team.s // self.team.solvers)

    @cached_property
    def _solver_share(self) -> Fraction:
        return sum((fraction * numbers.solver for fraction, numbers in self._shares), Fraction(0))

    @cached_property
    def _helper_share(self) -> Fraction:
        return sum((fraction * numbers.helper for fraction, numbers in self._shares), Fraction(0))

    @cached_property
    def t_map(self) -> Fraction:
        """Return the predicted map time: c_m p, and more where ranks share processors."""
        return self.machine.mapping(
            self.batches, Crew(self.solvers, self._solver_share), Crew(self.helpers, self._helper_share)
        )

    @cached_property
    def t_shuffle(self) -> Fraction:
        """Return the predicted shuffle time: c_s(j) L_j for each number of receivers, and bookkeeping."""
        machine, solvers = self.machine, range(self.solvers)
        bytes_time = sum(
            (
                fraction
                * n.load
                * machine.c_s(n.receivers, senders_of(part, self.team), solvers)
                * machine.padded(n.members)
                for part, (fraction, n) in zip(self.ingredients, self._shares, strict=True)
                if n.load
            ),
            Fraction(0),
        )
        fixed = machine.start if self.packets else Fraction(0)
        # Groups are set up while there is something to map.
        setting_up = max(self.groups * machine.group - self.t_map, Fraction(0))
        return bytes_time * self._growth + self.packets * machine.packet + setting_up + fixed

    @cached_property
    def t_reduce(self) -> Fraction:
        """Return the predicted reduce time: c_r times the most partitions of a solver, or more."""
        least, more = divmod(self.team.partitions * self.team.s, self.solvers)
        crews = Crew(more, Fraction(least + 1)), Crew(self.solvers - more, Fraction(least))
        return self.machine.reducing(*crews) * self._growth

    @cached_property
    def total(self) -> Fraction:
        """Return the predicted time: map and shuffle one after the other or at once, then reduce."""
        both = self.t_map + self.t_shuffle
        if self.implementation == "parallel":
            both = max(self.t_map, self.t_shuffle)
        return both + self.t_reduce

    @property
    def memory(self) -> int:
        """Return about how many bytes of intermediate values a rank holds at once; 0: not known."""
        share = self.peak + Fraction(self.most_partitions, self.team.partitions)
        return int(self.machine.values * self._growth * share)

    def build(self) -> Plan:
        """Return the plan itself."""
        plans = [(plan_of(part, self.team), part.fraction) for part in self.ingredients]
        plan = plans[0][0] if len(plans) == 1 else shared(plans, self.scheme)
        return sliced(replace(plan, scheme=self.scheme), self.slices)

    def __str__(self) -> str:
        """Return the numbers in a line."""
        ranks = counted(self.solvers, "solver")
        if self.helpers:
            ranks += f" and {counted(self.helpers, 'helper')}"
        return f"{self.scheme} with {ranks}, r={fraction_text(self.r)}" + (
            f", s={self.team.s}" if self.team.s > 1 else ""
        )
