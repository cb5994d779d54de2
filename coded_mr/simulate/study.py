"""Where coding pays on a machine: coded and uncoded times over the computation load, and over Q."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import log
from statistics import fmean, stdev
from typing import Literal, NamedTuple

from coded_mr.simulate.events import simulate
from coded_mr.simulate.fluid import (
    Design,
    Slowest,
    Times,
    coded_design,
    is_countable,
    predict,
    shuffle_time,
    uncoded_design,
)
from coded_mr.simulate.machine import Machine
from coded_mr.theory.load import Implementation

__all__ = ["By", "Row", "Study", "Summary", "exponent"]

By = Literal["packets", "loads"]


class Summary(NamedTuple):
    """Hold the mean seconds of the stages, and how the total scatters over the repetitions."""

    map: float
    shuffle: float
    reduce: float
    total: float
    deviation: float
    least: float
    most: float

    @classmethod
    def of(cls, runs: Sequence[Times]) -> Summary:
        """Summarise one or more runs; the deviation of one is 0."""
        totals = [float(run.total) for run in runs]
        return cls(
            map=fmean(float(run.map) for run in runs),
            shuffle=fmean(float(run.shuffle) for run in runs),
            reduce=fmean(float(run.reduce) for run in runs),
            total=fmean(totals),
            deviation=stdev(totals) if len(totals) > 1 else 0.0,
            least=min(totals),
            most=max(totals),
        )


class Row(NamedTuple):
    """Hold one computation load: the solver-helper scheme, and the best uncoded design on the same ranks."""

    r: Fraction
    coded: Design
    uncoded: Design
    coded_times: Summary
    uncoded_times: Summary

    @property
    def gain(self) -> float:
        """Return how many times as long uncoded takes, on average: coding wins above 1."""
        return self.uncoded_times.total / self.coded_times.total


@dataclass(frozen=True)
class Study:
    """Ask how Q partitions fare on a machine, with one solver a partition.

    helpers None takes as many as each load needs. Of `repeat` repetitions every load has the same noise.
    """

    partitions: int
    machine: Machine
    implementation: Implementation = "sequential"
    helpers: int | None = None
    repeat: int = 1

    def design(self, r: int | Fraction) -> Design:
        """Return the solver-helper design of a computation load."""
        return coded_design(self.partitions, r, self.implementation, self.helpers)

    def rival(self, helpers: int | None) -> Design:
        """Return the uncoded design with the least mean total on as many ranks, by loads.

        Every file mapped once, or everything mapped everywhere, or (parallel) shared out between the two.
        """
        Q, machine = self.partitions, self.machine
        least = Fraction(0) if helpers is None else Fraction(1, Q + helpers)
        peaks = [Fraction(1), least]
        if least < 1:
            pace = shuffle_time(uncoded_design(Q, helpers, least), machine) / (1 - least)
            slowest = sum((slowest.solvers for slowest in self._noise), Fraction(0)) / self.repeat
            peaks.append(max(least, pace / (machine.costs.map * slowest + pace)))
        designs = [uncoded_design(Q, helpers, peak) for peak in peaks]
        return min(designs, key=lambda design: self._expected(design).total)

    def best(self) -> Fraction:
        """Return the computation load of the least mean total by loads, the largest of equals.

        In parallel it may lie between whole loads, where map and shuffle take equally long on average.
        """
        whole = min((Fraction(r) for r in self.whole_loads()), key=self._rank)
        if self.implementation == "sequential":
            return whole
        candidates = [whole, *(self._crossing(low) for low in (whole - 1, whole))]
        return min((r for r in candidates if r is not None), key=self._rank)

    def whole_loads(self) -> list[int]:
        """Return the whole computation loads 0..Q, but those with too many packets for their overhead."""
        return [r for r in range(self.partitions + 1) if is_countable(self.design(r), self.machine)]

    def packets(self, r: int | Fraction) -> int | None:
        """Return how many packets the two plans of a row have; None in the limit of endless helpers."""
        coded = self.design(r)
        return None if coded.helpers is None else coded.count + self.rival(self._company(coded)).count

    def rows(self, loads: Iterable[int | Fraction], by: By = "loads") -> list[Row]:
        """Return a row for each computation load, simulated by packets or by loads.

        Raises UsageError for a load out of range, and by packets for one that needs endless helpers.
        """
        runs = self._by_packets if by == "packets" else self._by_loads
        rows = []
        for r in loads:
            coded = self.design(r)
            uncoded = self.rival(self._company(coded))
            rows.append(Row(Fraction(r), coded, uncoded, Summary.of(runs(coded)), Summary.of(runs(uncoded))))
        return rows

    def _company(self, coded: Design) -> int | None:
        """Return how many helpers the uncoded rival may use."""
        return coded.helpers if self.helpers is None else self.helpers

    def _by_loads(self, design: Design) -> list[Times]:
        return [predict(design, self.machine, self.implementation, slowest) for slowest in self._noise]

    def _by_packets(self, design: Design) -> list[Times]:
        plan = design.build()
        found = []
        for repetition in range(self.repeat):
            trace = simulate(plan, self.machine, self.implementation, repetition)
            spans = [interval for interval in trace.shuffle if interval is not None]
            shuffle = max(i.end for i in spans) - min(i.start for i in spans) if spans else Fraction(0)
            t_map = max(interval.end for interval in trace.map if interval is not None)
            found.append(Times(t_map, shuffle, self.machine.costs.reduce, trace.total))
        return found

    @cached_property
    def _noise(self) -> list[Slowest]:
        return [Slowest(self.machine, self.partitions, repetition) for repetition in range(self.repeat)]

    def _expected(self, design: Design) -> Times:
        """Return the exact means over the repetitions, by loads."""
        runs = self._by_loads(design)
        return Times(*(sum(stage, Fraction(0)) / len(runs) for stage in zip(*runs, strict=True)))

    def _rank(self, r: Fraction) -> tuple[Fraction, Fraction]:
        return self._expected(self.design(r)).total, -r

    def _crossing(self, low: Fraction) -> Fraction | None:
        """Return where map and shuffle, both straight lines from low to low + 1, meet."""
        if not 0 <= low < self.partitions:
            return None
        designs = [self.design(low), self.design(low + 1)]
        if not all(is_countable(design, self.machine) for design in designs):
            return None
        before, after = (times.shuffle - times.map for times in map(self._expected, designs))
        return low + before / (before - after) if after < 0 < before else None


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the least-squares line through (log x, log y): y falls like x to that power.

    Needs two points of different x or more, all positive.
    """
    xs, ys = [log(x) for x, _ in points], [log(y) for _, y in points]
    middle, height = fmean(xs), fmean(ys)
    return sum((x - middle) * (y - height) for x, y in zip(xs, ys, strict=True)) / sum(
        (x - middle) ** 2 for x in xs
    )
