"""The mean completion time of few workers, and loads that make it small.

For the model of Kim, Park, Choi 2019 (arXiv 1904.09496) without its limit of many workers. With few, the
paper's optimum can be improved on (by 9 % for 8 equal workers): it may make a fraction of a worker necessary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import isfinite, lgamma, log, prod
from typing import TYPE_CHECKING

from coded_mr.errors import UsageError
from coded_mr.theory.load_allocation import Group, Model, check_groups, optimal, rounded, uniform

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Doubles = npt.NDArray[np.float64]

__all__ = ["FiniteAllocation", "expected_time", "search"]

_MOST_PATTERNS = 100_000
_MOST_SEARCHED = 5_000
_DESCENTS = 2  # from the best starts
_ACCURACY = 1e-11
_ENOUGH = 1 - 1e-12  # this fraction of k rows is k rows: the rest is a rounding error
_NEVER = -1e6  # the logarithm of a probability that is 0


@dataclass(frozen=True)
class FiniteAllocation:
    """Hold whole loads, one for each group, with the mean completion time; `evaluations` were compared."""

    loads: tuple[int, ...]
    ET: float
    evaluations: int


def expected_time(groups: Sequence[Group], loads: Sequence[float], k: int, model: Model = "job") -> float:
    """Return the mean time until k rows have come back, to a relative accuracy of 1e-9 or better.

    The integral over t of Pr(sum of l_j Bin(N_j, F_j(t)) < k). Loads may be real numbers; a group with load 0
    takes no part. Raises UsageError when all rows together are fewer than k, or when the product of N_j + 1,
    without the largest, exceeds 100,000: use `optimal` for so many workers.
    """
    check_groups(groups, k, model)
    if len(loads) != len(groups) or not all(load >= 0 and isfinite(load) for load in loads):
        raise UsageError(
            f"the loads are {tuple(loads)}: give one of 0 or more for each of {len(groups)} groups"
        )
    used = sorted(((g, load) for g, load in zip(groups, loads, strict=True) if load), key=lambda x: x[0].N)
    if sum(group.N * load for group, load in used) < k * _ENOUGH:
        raise UsageError(f"the loads {tuple(loads)} are fewer than k = {k} rows together: the job never ends")
    if prod(group.N + 1 for group, _ in used[:-1]) > _MOST_PATTERNS:
        raise UsageError("too many workers for the exact mean time: use the limit of many workers")
    unit = 1.0 if model == "row" else 1.0 / k
    shifts = [group.alpha * load * unit for group, load in used]
    rates = [group.mu / (load * unit) for group, load in used]
    sizes = [group.N for group, _ in used]
    survival = _survival(sizes, [load for _, load in used], shifts, rates, k * _ENOUGH)
    edges = _edges(sizes, shifts, rates)
    return edges[0] + _integral(survival, edges)


def _survival(
    sizes: Sequence[int], loads: Sequence[float], shifts: Sequence[float], rates: Sequence[float], k: float
) -> Callable[[Doubles], Doubles]:
    """Return Pr(fewer than k rows by time t) as a function of many t.

    Every pattern of finishers in all groups but the last leaves a number of finishers of the last one that
    is not enough.
    """
    import numpy as np

    others = list(product(*(range(N + 1) for N in sizes[:-1])))
    patterns = np.array(others, dtype=np.int64).reshape(len(others), len(sizes) - 1)
    lacking = k - patterns @ np.array(loads[:-1], dtype=np.float64)
    patterns, lacking = patterns[lacking > 0], lacking[lacking > 0]
    short = np.minimum(np.ceil(lacking / loads[-1]).astype(np.int64) - 1, sizes[-1])

    def survival(times: Doubles) -> Doubles:
        chances = [_binomial(*one, times) for one in zip(sizes, shifts, rates, strict=True)]
        joint = np.cumsum(chances[-1], axis=0)[short]
        for column, chance in enumerate(chances[:-1]):
            joint *= chance[patterns[:, column]]
        total: Doubles = joint.sum(axis=0)
        return total

    return survival


def _binomial(N: int, shift: float, rate: float, times: Doubles) -> Doubles:
    """Return Pr(r of N workers have finished by time t), as an array [r, t]."""
    import numpy as np

    waited = np.maximum(rate * (times - shift), 0.0)
    finished = np.full_like(times, _NEVER)
    np.log(-np.expm1(-waited), out=finished, where=waited > 0)
    counts = np.arange(N + 1)[:, None]
    ways = np.array([lgamma(N + 1) - lgamma(r + 1) - lgamma(N - r + 1) for r in range(N + 1)])[:, None]
    chances: Doubles = np.exp(ways + counts * finished - (N - counts) * waited)
    return chances


def _edges(sizes: Sequence[int], shifts: Sequence[float], rates: Sequence[float]) -> list[float]:
    """Return where to cut the integral: at every shift, where it bends, and in doubling steps after it."""
    first = 1 / (max(rates) * sum(sizes))
    last = max(s + (log(N) + 46) / rate for N, s, rate in zip(sizes, shifts, rates, strict=True))
    starts = sorted(set(shifts))
    edges = []
    for start, end in zip(starts, [*starts[1:], last], strict=True):
        step = 0.0
        while start + step < end:
            edges.append(start + step)
            step = 2 * step + first
    return [*edges, last]


def _integral(function: Callable[[Doubles], Doubles], edges: Sequence[float]) -> float:
    """Return the integral over pieces, each halved until the sum no longer changes."""
    import numpy as np

    nodes, weights = np.polynomial.legendre.leggauss(16)
    cuts = np.array(edges)
    before = float("inf")
    for _ in range(8):
        half = np.diff(cuts)[:, None] / 2
        times = cuts[:-1, None] + half * (1 + nodes)
        total = float((function(times.ravel()).reshape(times.shape) * weights * half).sum())
        if abs(total - before) <= _ACCURACY * (total + edges[0]):
            break
        before = total
        cuts = np.sort(np.concatenate([cuts, (cuts[:-1] + cuts[1:]) / 2]))
    return total


def search(groups: Sequence[Group], k: int, model: Model = "job") -> FiniteAllocation:
    """Return whole loads that no step of a local search improves, for few workers in several groups.

    Starts from the optimum for many workers and from uniform loads, and tries to make just enough the rows of
    every pattern of finishers: by changing one load, all in proportion, or two against each other. It may
    miss the global optimum; it never does worse than the rounded start. Raises UsageError when the product
    of N_j + 1 exceeds 5,000.
    """
    check_groups(groups, k, model)
    if prod(group.N + 1 for group in groups) > _MOST_SEARCHED:
        raise UsageError("too many workers to search for better loads: use the optimum for many workers")
    patterns = [r for r in product(*(range(group.N + 1) for group in groups)) if any(r)]
    known: dict[tuple[int, ...], float] = {}

    def time(loads: tuple[int, ...]) -> float:
        if loads not in known:
            enough = sum(group.N * load for group, load in zip(groups, loads, strict=True)) >= k
            known[loads] = expected_time(groups, loads, k, model) if enough else float("inf")
        return known[loads]

    starts = sorted(set(_starts(groups, k)), key=time)[:_DESCENTS]
    best = min((_descend(start, patterns, k, time) for start in starts), key=time)
    return FiniteAllocation(best, time(best), len(known))


def _starts(groups: Sequence[Group], k: int) -> Iterator[tuple[int, ...]]:
    """Yield loads to start from."""
    for rate in (1.0, 0.7, 0.5):
        yield rounded(uniform(groups, k, rate))
    if all(group.alpha > 0 for group in groups):
        yield rounded(optimal(groups, k).l)


def _descend(
    start: tuple[int, ...],
    patterns: Sequence[tuple[int, ...]],
    k: int,
    time: Callable[[tuple[int, ...]], float],
) -> tuple[int, ...]:
    """Return the loads at which no neighbour is faster."""
    here = start
    while True:
        following = min(_neighbours(here, patterns, k), key=time, default=here)
        if not time(following) < time(here):
            return here
        here = following


def _neighbours(loads: tuple[int, ...], patterns: Sequence[tuple[int, ...]], k: int) -> set[tuple[int, ...]]:
    """Return loads nearby at which some pattern of finishers brings just enough rows."""
    found: set[tuple[int, ...]] = set()
    for pattern in patterns:
        rows = sum(r * load for r, load in zip(pattern, loads, strict=True))
        if rows and k <= 2 * rows <= 4 * k:
            found.add(tuple(-(-load * k // rows) for load in loads))
        for j, r in enumerate(pattern):
            if r:
                found.add(_just_enough(loads, pattern, j, k))
        if 0 <= rows - k < sum(pattern):
            found.update(_exchanges(loads, pattern, k))
    for j, load in enumerate(loads):
        found.update((*loads[:j], load + step, *loads[j + 1 :]) for step in (-1, 1))
    return {
        new
        for new in found
        if new != loads
        and all(0 <= b <= 2 * a + 2 and a <= 2 * b + 2 for a, b in zip(loads, new, strict=True))
    }


def _just_enough(loads: tuple[int, ...], pattern: tuple[int, ...], j: int, k: int) -> tuple[int, ...]:
    """Return the loads with load j such that the pattern's finishers bring k rows, or barely more."""
    others = sum(r * load for i, (r, load) in enumerate(zip(pattern, loads, strict=True)) if i != j)
    return (*loads[:j], -(-(k - others) // pattern[j]), *loads[j + 1 :])


def _exchanges(loads: tuple[int, ...], pattern: tuple[int, ...], k: int) -> Iterator[tuple[int, ...]]:
    """Yield loads that move rows from one group to another and keep the pattern's finishers sufficient."""
    for i, j in product(range(len(loads)), repeat=2):
        if i == j or not pattern[i] or not pattern[j]:
            continue
        for step in (1, 2, 4, *(max(1, loads[i] * part // 64) for part in (1, 2, 4, 8, 16))):
            yield _just_enough((*loads[:i], loads[i] + step, *loads[i + 1 :]), pattern, j, k)
            yield _just_enough((*loads[:i], loads[i] - step, *loads[i + 1 :]), pattern, j, k)
