"""Shift and straggling rate of workers from the runtimes that were measured, and groups of like workers.

For the runtime models of Kim, Park, Choi 2019 (arXiv 1904.09496): alpha + Exp(rate mu) for one unit of work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import exp, inf, isfinite, log, sqrt

from coded_mr.errors import UsageError
from coded_mr.theory.counts import check_count
from coded_mr.theory.load_allocation import Group, Model

__all__ = ["Fit", "Grouping", "fit", "group_workers", "unit_times"]

# Stephens 1974, exponential with unknown scale: exceeded in 5 % of samples that are exponential.
_CRITICAL = 1.094


@dataclass(frozen=True)
class Fit:
    """Hold the shifted exponential that makes `samples` unit times most likely, and how well it fits.

    alpha     shift, the shortest time; it exceeds the true one by 1/(samples mu) on average
    mu        rate, 1 / (mean - shortest)
    distance  Kolmogorov-Smirnov distance: the largest difference, at any time, between the fraction of the
              samples that are shorter and the fitted probability; 0 is perfect, 1 the worst
    statistic the same for the samples beyond the shortest, scaled so that it does not depend on their number
    """

    samples: int
    alpha: float
    mu: float
    distance: float
    statistic: float

    @property
    def plausible(self) -> bool:
        """Return whether a shifted exponential explains the samples: a true one is rejected in 5 % of fits.

        Source: Stephens 1974, for an exponential of unknown scale, which the samples beyond the shortest are.
        """
        return self.statistic <= _CRITICAL


@dataclass(frozen=True)
class Grouping:
    """Hold workers grouped by speed, the fastest first: their numbers from 0, and the fit of each group."""

    members: tuple[tuple[int, ...], ...]
    fits: tuple[Fit, ...]

    @property
    def groups(self) -> tuple[Group, ...]:
        """Return the groups as the load allocation takes them."""
        return tuple(
            Group(len(members), found.mu, found.alpha)
            for members, found in zip(self.members, self.fits, strict=True)
        )


def unit_times(
    times: Sequence[float], rows: Sequence[float], k: int, model: Model = "job"
) -> tuple[float, ...]:
    """Return runtimes of workers that held some of k rows, as times for one unit of work.

    The unit is all k rows for the model "job", one row for "row"; then alpha and mu are a `Group`'s.
    Raises UsageError unless all are above 0 and finite, and there are as many rows as times.
    """
    check_count(k, "the number of rows k")
    if len(times) != len(rows):
        raise UsageError(f"{len(times)} runtimes were given with {len(rows)} row counts: one each is needed")
    if not all(isfinite(value) and value > 0 for value in (*times, *rows)):
        raise UsageError("runtimes and their row counts must be finite and above 0")
    scale = k if model == "job" else 1
    return tuple(time * scale / count for time, count in zip(times, rows, strict=True))


def fit(samples: Sequence[float]) -> Fit:
    """Return the maximum-likelihood shifted exponential for unit times.

    Raises UsageError for fewer than 3 samples, for samples that are negative or not finite, or all equal.
    """
    if len(samples) < 3:
        raise UsageError(f"{len(samples)} runtimes are too few to fit two parameters: measure 3 or more")
    ranked = sorted(samples)
    if not all(isfinite(value) and value >= 0 for value in ranked):
        raise UsageError("a measured runtime is negative or not finite")
    n, alpha = len(ranked), ranked[0]
    mean = sum(value - alpha for value in ranked) / n
    if not (mean > 0 and isfinite(1 / mean)):
        raise UsageError(
            f"all {n} runtimes are {alpha}: they do not vary, so there is no straggling rate to fit"
        )
    beyond = [value - alpha for value in ranked[1:]]
    rest = n - 1
    statistic = (_distance(beyond, mean * n / rest) - 0.2 / rest) * (sqrt(rest) + 0.26 + 0.5 / sqrt(rest))
    return Fit(n, alpha, 1 / mean, _distance([0.0, *beyond], mean), statistic)


def _distance(ranked: Sequence[float], mean: float) -> float:
    """Return the Kolmogorov-Smirnov distance of ascending values from an exponential of this mean."""
    n = len(ranked)
    chances = [1 - exp(-value / mean) for value in ranked]
    return max(max((at + 1) / n - chance, chance - at / n) for at, chance in enumerate(chances))


def group_workers(samples: Sequence[Sequence[float]], groups: int | None = None) -> Grouping:
    """Return workers grouped so that one shifted exponential a group makes all their unit times most likely.

    samples  for each worker its unit times, 3 or more each; 10 or more tell workers apart well
    groups   how many; left out, as many as the Bayesian information criterion asks for (2 parameters each)

    Exact among groupings that keep workers of neighbouring mean times together. Time grows with the square of
    the workers times the groups. Raises UsageError for more groups than workers, and as `fit` does.
    """
    if not samples:
        raise UsageError("there are no workers to group")
    for runtimes in samples:
        fit(runtimes)
    W = len(samples)
    order = sorted(range(W), key=lambda worker: (sum(samples[worker]) / len(samples[worker]), worker))
    cuts = _best_cuts([samples[worker] for worker in order], W if groups is None else groups)
    if groups is None:
        penalty = 2 * log(sum(map(len, samples)))
        chosen = min(cuts, key=lambda one: 2 * one[0] + penalty * (len(one[1]) - 1))[1]
    else:
        check_count(groups, "the number of groups")
        if groups > W:
            raise UsageError(f"{W} workers cannot make {groups} groups")
        chosen = cuts[-1][1]
    members = tuple(tuple(sorted(order[start:end])) for start, end in pairwise(chosen))
    fits = tuple(fit([time for worker in group for time in samples[worker]]) for group in members)
    return Grouping(members, fits)


def _best_cuts(samples: Sequence[Sequence[float]], most: int) -> list[tuple[float, tuple[int, ...]]]:
    """Return, for 1..most groups, the least negative log-likelihood and where to cut the sequence."""
    cost = _costs(samples)
    W = len(samples)
    best: list[tuple[float, tuple[int, ...]]] = [(cost[0][end], (0, end)) for end in range(W + 1)]
    found = [best[W]]
    for _ in range(1, min(most, W)):
        following: list[tuple[float, tuple[int, ...]]] = [(inf, ())] * (W + 1)
        for end in range(len(found) + 1, W + 1):
            total, start = min((best[start][0] + cost[start][end], start) for start in range(len(found), end))
            following[end] = (total, (*best[start][1], end))
        best = following
        found.append(best[W])
    return found


def _costs(samples: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return the negative log-likelihood of each run of workers start..end-1 as one group.

    It is n (1 + log(mean - least)).
    """
    W = len(samples)
    counts = [0, *accumulate(map(len, samples))]
    sums = [0.0, *accumulate(map(sum, samples))]
    least = [min(runtimes) for runtimes in samples]
    cost = [[inf] * (W + 1) for _ in range(W + 1)]
    for start in range(W):
        shortest = inf
        for end in range(start + 1, W + 1):
            shortest = min(shortest, least[end - 1])
            n = counts[end] - counts[start]
            spread = (sums[end] - sums[start]) / n - shortest
            cost[start][end] = n * (1 + log(spread)) if spread > 0 else inf
    return cost
