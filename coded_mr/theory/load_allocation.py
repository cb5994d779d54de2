"""How many coded rows each worker should hold when groups of workers differ in speed.

Kim, Park, Choi, "Optimal Load Allocation for Coded Distributed Computation in Heterogeneous Clusters",
2019 (arXiv 1904.09496). A (n, k) MDS code stands for the k rows of A; group j has N_j workers that hold
l_j coded rows each; y = A x is known once k rows have come back, whoever sends them. Floats, except for
`homogeneous`, which is exact. `coded_mr.theory.finite_allocation` has the mean time of few workers, where
the optimum here, exact for many, is not the best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isfinite, log1p, sqrt
from typing import Literal

from coded_mr.errors import UsageError
from coded_mr.theory.checks import as_fraction
from coded_mr.theory.counts import check_count

__all__ = [
    "Group",
    "Homogeneous",
    "LoadAllocation",
    "Model",
    "check_groups",
    "excess_root",
    "homogeneous",
    "optimal",
    "rounded",
    "uniform",
]

Model = Literal["job", "row"]

# Below this, v - log(1 + v) is summed as a series: the difference would cancel.
_SERIES_BELOW = 0.1
_SERIES_TERMS = 18
# A load may miss a whole number by this fraction of itself, which rounding errors explain.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Group:
    """Describe workers that are alike: N of them, straggling rate mu > 0 and shift alpha >= 0.

    Model "job": a worker with l of k rows needs alpha l/k + Exp(rate mu k/l), so that alpha + 1/mu is the
    mean time of one worker for all k rows. Model "row": alpha l + Exp(rate mu / l), alpha + 1/mu for one row.
    Raises UsageError outside these ranges.
    """

    N: int
    mu: float
    alpha: float

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_count(self.N, "the number of workers N in a group")
        if not (self.mu > 0 and isfinite(self.mu)):
            raise UsageError(
                f"the straggling rate mu of a group is {self.mu!r}: it must be above 0 and finite"
            )
        if not (self.alpha >= 0 and isfinite(self.alpha)):
            raise UsageError(f"the shift alpha of a group is {self.alpha!r}: it must be 0 or more and finite")


@dataclass(frozen=True)
class LoadAllocation:
    """Describe the optimal loads; every tuple has one entry for each group.

    u     root above 1 of u - 1 - log u = alpha mu
    r     workers that have finished when the k-th row arrives, N (1 - 1/u)
    xi    common finishing time in units of l/k, (u - 1)/mu
    l     coded rows that each worker holds, real numbers; `rounded(l)` are the whole ones
    T     mean completion time in the limit of many workers
    """

    groups: tuple[Group, ...]
    k: int
    model: Model
    u: tuple[float, ...]
    r: tuple[float, ...]
    xi: tuple[float, ...]
    l: tuple[float, ...]  # noqa: E741 - the paper's name
    T: float

    @property
    def n(self) -> float:
        """Return how many coded rows all workers hold together."""
        return sum(group.N * load for group, load in zip(self.groups, self.l, strict=True))

    @property
    def rate(self) -> float:
        """Return k / n, the rate of the code."""
        return self.k / self.n


@dataclass(frozen=True)
class Homogeneous:
    """Describe the exact optimum for N equal workers: wait for r, each with k/r rows; ET is the mean time."""

    r: int
    ET: Fraction
    rate: Fraction


def excess_root(product: float) -> float:
    """Return u - 1 for the root u > 1 of u - 1 - log u = product; product = alpha mu > 0, of any size.

    u = -W(-exp(-(product + 1))) on the lower branch of Lambert's W, without its overflow: Newton's method
    falls monotonically from product + sqrt(2 product) to u - 1, with full relative accuracy.
    """
    v = product + sqrt(2 * product)
    while True:
        following = v + (product - _excess(v)) * (1 + v) / v
        if not following < v * (1 - 1e-15):
            return v
        v = following


def _excess(v: float) -> float:
    """Return v - log(1 + v)."""
    if v >= _SERIES_BELOW:
        return v - log1p(v)
    return v * v * sum((-v) ** n / (n + 2) for n in range(_SERIES_TERMS))


def optimal(groups: Sequence[Group], k: int, model: Model = "job") -> LoadAllocation:
    """Return the loads with the least mean completion time in the limit of many workers.

    All groups then finish their r-th worker at the same mean time, and each r is where r / xi(r) is largest.
    Both models have the same loads; T of "row" is k times T of "job". Raises UsageError without groups, for
    an alpha mu that is 0 or overflows, and unless k is an int >= 1.
    Source: arXiv 1904.09496, Theorems 1 and 2.
    """
    check_groups(groups, k, model)
    roots = []
    for group in groups:
        if not 0 < group.alpha * group.mu < float("inf"):
            raise UsageError(
                f"alpha mu = {group.alpha * group.mu!r} of {group} has no optimal load for many workers:"
                " give a shift alpha above 0, or use homogeneous() or search()"
            )
        roots.append(excess_root(group.alpha * group.mu))
    unit = 1 / sum(group.N * group.mu / (1 + v) for group, v in zip(groups, roots, strict=True))
    return LoadAllocation(
        groups=tuple(groups),
        k=k,
        model=model,
        u=tuple(1 + v for v in roots),
        r=tuple(group.N * v / (1 + v) for group, v in zip(groups, roots, strict=True)),
        xi=tuple(v / group.mu for group, v in zip(groups, roots, strict=True)),
        l=tuple(k * unit * group.mu / v for group, v in zip(groups, roots, strict=True)),
        T=unit if model == "job" else k * unit,
    )


def uniform(groups: Sequence[Group], k: int, rate: float = 1.0) -> tuple[float, ...]:
    """Return equal loads for all workers at a rate k/n in (0, 1]; rate 1 is uncoded: everybody must finish.

    Raises UsageError for other rates.
    """
    check_groups(groups, k)
    if not 0 < rate <= 1:
        raise UsageError(f"the rate of a code is {rate!r}: it must be above 0 and at most 1")
    load = k / (rate * sum(group.N for group in groups))
    return (load,) * len(groups)


def rounded(loads: Sequence[float]) -> tuple[int, ...]:
    """Return whole loads, rounded up: k rows still come back. Floating-point errors are not rounded up."""
    return tuple(ceil(load * (1 - _ROUNDING)) for load in loads)


def homogeneous(N: int, mu: Fraction, alpha: Fraction) -> Homogeneous:
    """Return the exact optimum for N equal workers, of any number, in model "job" with k divisible by r.

    r minimises (alpha + (H_N - H_(N-r)) / mu) / r, by enumeration; ties go to the larger r, which needs fewer
    coded rows. In model "row" the time is k times as long. Raises UsageError unless N >= 1 is an int, mu > 0
    and alpha >= 0 are exact.
    Source: this project; the mean order statistics are those of arXiv 1904.09496, (6).
    """
    check_count(N, "the number of workers N")
    mu, alpha = as_fraction(mu, "the straggling rate mu"), as_fraction(alpha, "the shift alpha")
    if mu <= 0 or alpha < 0:
        raise UsageError(f"mu = {mu} and alpha = {alpha}: mu must be above 0 and alpha 0 or more")
    best, harmonic = None, Fraction(0)
    for r in range(1, N + 1):
        harmonic += Fraction(1, N - r + 1)
        time = (alpha + harmonic / mu) / r
        if best is None or time <= best.ET:
            best = Homogeneous(r, time, Fraction(r, N))
    assert best is not None
    return best


def check_groups(groups: Sequence[Group], k: int, model: str = "job") -> None:
    """Raise UsageError without groups, unless k is an int >= 1, and for an unknown model."""
    if not groups:
        raise UsageError("there are no groups of workers to share the rows")
    check_count(k, "the number of rows k")
    if model not in ("job", "row"):
        raise UsageError(f"the runtime model is {model!r}: choose 'job' or 'row'")
