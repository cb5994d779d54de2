"""Which coded rows each worker holds for y = A x: rules to compare, and the mean time of each.

Optimal loads are those of Kim, Park, Choi 2019 (arXiv 1904.09496), in `coded_mr.theory.load_allocation`; the
others are what it is compared with. Workers are counted from 0 (rank 1 of a world is worker 0) and belong to
the groups in their order: the first group's workers come first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, expm1, log

from coded_mr.errors import UsageError
from coded_mr.theory.counts import check_count
from coded_mr.theory.finite_allocation import expected_time, search
from coded_mr.theory.load_allocation import Group, Model, check_groups, rounded
from coded_mr.theory.load_allocation import optimal as optimal_loads

__all__ = [
    "Allocation",
    "Rule",
    "best",
    "members",
    "optimal",
    "parse_rule",
    "replication",
    "tolerant",
    "uncoded",
    "uniform",
]

_PANELS = 400  # of the integral for replicated rows
_TAIL = 45.0  # natural logarithm of what is cut off


@dataclass(frozen=True)
class Allocation:
    """Say which coded rows each worker holds.

    name   of the rule
    k      rows of A; any k different coded rows are enough
    rows   for each worker, the numbers of its coded rows; workers may hold the same ones (replication)
    """

    name: str
    k: int
    rows: tuple[range, ...]

    @property
    def n(self) -> int:
        """Return the number of different coded rows."""
        return max(rows.stop for rows in self.rows)

    @property
    def loads(self) -> tuple[int, ...]:
        """Return how many coded rows each worker holds."""
        return tuple(len(rows) for rows in self.rows)

    def mean_time(self, groups: Sequence[Group], model: Model = "job") -> float:
        """Return the mean time until k different rows have come back from workers in these groups.

        Exact up to rounding, for few workers too. Raises UsageError unless the groups have as many workers.
        """
        of = members(groups, len(self.rows))
        if len(set(self.rows)) < len(self.rows) and self.n == self.k:
            return _replicated_time(of, self.rows, 1.0 if model == "row" else 1.0 / self.k)
        alike = Counter((group.mu, group.alpha, load) for group, load in zip(of, self.loads, strict=True))
        split = [Group(count, mu, alpha) for (mu, alpha, _), count in alike.items()]
        return expected_time(split, [load for _, _, load in alike], self.k, model)


Rule = Callable[[int, int], Allocation]
"""Return the allocation for so many workers and k rows."""


def members(groups: Sequence[Group], workers: int) -> tuple[Group, ...]:
    """Return the group of each worker; raises UsageError unless the groups have so many workers."""
    of = tuple(group for group in groups for _ in range(group.N))
    if len(of) != workers:
        raise UsageError(
            f"the groups have {len(of)} workers, but there are {workers}: the numbers must agree"
        )
    return of


def optimal(groups: Sequence[Group]) -> Rule:
    """Return the rule that is optimal for many workers, rounded up to whole rows (Theorems 1 and 2)."""

    def rule(workers: int, k: int) -> Allocation:
        members(groups, workers)
        return _by_group("optimal", groups, k, rounded(optimal_loads(groups, k).l))

    return rule


def best(groups: Sequence[Group]) -> Rule:
    """Return the rule that searches whole loads for these few workers; never worse than `optimal`."""

    def rule(workers: int, k: int) -> Allocation:
        members(groups, workers)
        return _by_group("best", groups, k, search(groups, k).loads)

    return rule


def uniform(rate: float) -> Rule:
    """Return the rule that shares k / rate coded rows evenly; raises UsageError unless 0 < rate <= 1."""
    if not 0 < rate <= 1:
        raise UsageError(f"the rate of a code is {rate!r}: it must be above 0 and at most 1")

    def rule(workers: int, k: int) -> Allocation:
        return _ranges(f"uniform:{rate:g}", k, _even(workers, max(k, ceil(k / rate * (1 - 1e-12)))))

    return rule


def uncoded(workers: int, k: int) -> Allocation:
    """Share the rows themselves evenly: all workers must finish."""
    return _ranges("uncoded", k, _even(workers, k))


def tolerant(lost: int) -> Rule:
    """Return the rule of even loads with as few coded rows as let any `lost` workers be missing.

    The rule raises UsageError unless there are more than `lost` workers.
    """
    check_count(lost, "the number of workers that may be missing", least=0)

    def rule(workers: int, k: int) -> Allocation:
        if lost >= workers:
            raise UsageError(f"{lost} of {workers} workers may not be missing: nobody would be left")
        return _ranges(f"tolerant:{lost}", k, (ceil(k / (workers - lost)),) * workers)

    return rule


def replication(copies: int) -> Rule:
    """Return the rule that cuts the rows into workers // copies parts and gives each to `copies` workers.

    Workers in excess go round the parts again. The rule raises UsageError with fewer workers than copies.
    """
    check_count(copies, "the number of copies")

    def rule(workers: int, k: int) -> Allocation:
        if workers < copies:
            raise UsageError(f"{workers} workers cannot hold {copies} copies: at most {workers} fit")
        parts = _ranges("", k, _even(workers // copies, k)).rows
        rows = tuple(parts[worker % len(parts)] for worker in range(workers))
        return Allocation(f"replication:{copies}", k, rows)

    return rule


def parse_rule(text: str, groups: Sequence[Group] = ()) -> Rule:
    """Return the rule that a text names.

    optimal, best (both need groups), uncoded, uniform:RATE, tolerant:LOST, replication:COPIES.
    Raises UsageError for any other text.
    """
    name, _, value = text.partition(":")
    if name in ("optimal", "best") and not value:
        if not groups:
            raise UsageError(f"the rule {name} needs the groups of workers it is optimal for")
        return optimal(groups) if name == "optimal" else best(groups)
    if text == "uncoded":
        return uncoded
    try:
        if name == "uniform":
            return uniform(float(value))
        if name == "tolerant":
            return tolerant(int(value))
        if name == "replication":
            return replication(int(value))
    except ValueError:
        raise UsageError(f"the rule {text!r} lacks a number after {name}:") from None
    raise UsageError(
        f"the rule is {text!r}: choose optimal, best, uncoded, uniform:RATE, tolerant:LOST"
        " or replication:COPIES"
    )


def _even(workers: int, rows: int) -> tuple[int, ...]:
    """Return loads that differ by one row at most."""
    check_count(workers, "the number of workers")
    return tuple(rows * (worker + 1) // workers - rows * worker // workers for worker in range(workers))


def _by_group(name: str, groups: Sequence[Group], k: int, loads: Sequence[int]) -> Allocation:
    check_groups(groups, k)
    return _ranges(
        name, k, tuple(load for group, load in zip(groups, loads, strict=True) for _ in range(group.N))
    )


def _ranges(name: str, k: int, loads: Sequence[int]) -> Allocation:
    """Return the allocation in which workers hold consecutive coded rows."""
    check_count(k, "the number of rows k")
    stops = [0]
    for load in loads:
        stops.append(stops[-1] + load)
    return Allocation(name, k, tuple(range(*pair) for pair in pairwise(stops)))


def _replicated_time(of: Sequence[Group], rows: Sequence[range], unit: float) -> float:
    """Return the mean of the latest part's earliest copy, the integral of the chance that it is not there."""
    parts: dict[range, list[tuple[float, float]]] = {}
    for group, part in zip(of, rows, strict=True):
        if part:
            load = len(part) * unit
            parts.setdefault(part, []).append((group.alpha * load, group.mu / load))
    shifts = sorted({shift for copies in parts.values() for shift, _ in copies})
    slowest = min(rate for copies in parts.values() for _, rate in copies)
    last = shifts[-1] + (_TAIL + log(len(of))) / slowest
    total = shifts[0]
    for start, stop in zip(shifts, [*shifts[1:], last], strict=True):
        total += _simpson(lambda time: _lacking(parts.values(), time), start, stop)
    return total


def _lacking(parts: Iterable[list[tuple[float, float]]], time: float) -> float:
    """Return the chance that some part has not come back by a time."""
    there = 1.0
    for copies in parts:
        waited = sum(rate * max(0.0, time - shift) for shift, rate in copies)
        there *= -expm1(-waited)
    return 1.0 - there


def _simpson(function: Callable[[float], float], start: float, stop: float) -> float:
    """Return the integral by Simpson's rule over panels that grow from the start, where it bends."""
    total, before = 0.0, start
    for panel in range(1, _PANELS + 1):
        edge = start + (stop - start) * (panel / _PANELS) ** 2
        middle = (before + edge) / 2
        total += (edge - before) / 6 * (function(before) + 4 * function(middle) + function(edge))
        before = edge
    return total
