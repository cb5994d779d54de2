"""Loads and times when S solvers share Q partitions, because ranks are fewer than the optimum wants.

Solver k reduces a bundle of c or c+1 partitions, c = Q div S, and b = Q mod S bundles are the longer ones.
A coded packet is as long as its longest member, padding included. This project's extension of Yu et al.
2017 (arXiv 1702.07297); with S = Q the loads are the paper's.

Both loads fall with r and are convex in it: with n = S - r and falling factorials n_(j) = n (n-1) ..
(n-j+1), Q times the load is c n / (r+1) + sum_{j=1..b} n_(j) / S_(j) for helpers that send, and
c n / r + sum_{j=1..b} n n_(j-1) / S_(j) for solvers that send, and every term does and is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import comb
from typing import Literal, NamedTuple

from coded_mr.errors import UsageError
from coded_mr.theory.checks import check_functions
from coded_mr.theory.costs import Costs
from coded_mr.theory.load import Implementation, check_implementation

__all__ = ["Kind", "Mixture", "Part", "Times", "check_servers", "helper_load", "mixed_load", "solver_load"]

Kind = Literal["helper", "cdc"]


class Part(NamedTuple):
    """Describe a fraction of the files: each on r solvers, and sent by helpers or by solvers ("cdc").

    Helpers' files are each on one helper too; files on all S solvers are never sent, and count as "cdc".
    """

    kind: Kind
    r: int
    fraction: Fraction


class Times(NamedTuple):
    """Hold the time that each phase takes."""

    map: Fraction
    shuffle: Fraction
    reduce: Fraction


@dataclass(frozen=True)
class Mixture:
    """Describe a division of the files among schemes, on S solvers and H helpers, and what it costs.

    Parts of one kind and degree are joined, empty ones dropped, helpers' come first, then by degree. Raises
    UsageError unless 1 <= S <= Q, H >= 0 and the fractions are positive and add up to 1.
    """

    implementation: Implementation
    partitions: int
    costs: Costs
    solvers: int
    helpers: int
    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        """Check the ranges and put the parts in order."""
        check_functions(self.partitions)
        check_implementation(self.implementation)
        check_servers(self.partitions, self.solvers, self.helpers)
        object.__setattr__(self, "parts", _joined(self.parts, self.solvers))
        total = sum((part.fraction for part in self.parts), Fraction(0))
        negative = any(part.fraction < 0 for part in self.parts)
        if total != 1 or negative or (self.helper_share and not self.helpers):
            raise UsageError(
                f"the parts hold {total} of the files, {self.helper_share} for {self.helpers} helpers:"
                " none may be negative, together they must hold all, and helpers' parts need a helper"
            )

    @property
    def ranks(self) -> int:
        """Return how many ranks take part."""
        return self.solvers + self.helpers

    @property
    def helper_share(self) -> Fraction:
        """Return the fraction of the files that helpers map and send."""
        return sum((part.fraction for part in self.parts if part.kind == "helper"), Fraction(0))

    @property
    def r(self) -> Fraction:
        """Return the computation load: how many solvers map a file, on average."""
        return sum((part.r * part.fraction for part in self.parts), Fraction(0))

    @cached_property
    def peak(self) -> Fraction:
        """Return p, the largest fraction of the files that one rank maps."""
        own, share = self.r / self.solvers, self.helper_share
        return max(own, share / self.helpers) if share else own

    @cached_property
    def load(self) -> Fraction:
        """Return L in units of QNT bits, padding included."""
        return mixed_load(self.partitions, self.solvers, self.parts)

    @cached_property
    def times(self) -> Times:
        """Return c_m p, c_s L, and c_r for each partition of the longest bundle."""
        longest = -(-self.partitions // self.solvers)
        return Times(self.costs.map * self.peak, self.costs.shuffle * self.load, self.costs.reduce * longest)

    @cached_property
    def cost(self) -> Fraction:
        """Return the predicted time: map and shuffle, added or the longer of them, then reduce."""
        *both, last = self.times
        return (sum(both, Fraction(0)) if self.implementation == "sequential" else max(both)) + last


def check_servers(partitions: int, solvers: int, helpers: int) -> None:
    """Raise UsageError unless 1 <= S <= Q and H >= 0."""
    if not 1 <= solvers <= partitions or helpers < 0:
        raise UsageError(
            f"{solvers} solvers and {helpers} helpers cannot share {partitions} partitions:"
            " take 1 or more solvers, no more than partitions, and 0 or more helpers"
        )


def _joined(parts: Iterable[Part], solvers: int) -> tuple[Part, ...]:
    """Return the parts with equal ones joined and empty ones dropped, helpers' first, then by degree."""
    sums: dict[tuple[bool, int], Fraction] = {}
    for kind, r, fraction in parts:
        key = (kind == "cdc" or r == solvers, r)
        sums[key] = sums.get(key, Fraction(0)) + fraction
    return tuple(Part("cdc" if own else "helper", r, sums[own, r]) for own, r in sorted(sums) if sums[own, r])


def mixed_load(partitions: int, solvers: int, parts: Iterable[Part]) -> Fraction:
    """Return the load L of parts of the files, in units of QNT bits, padding included."""
    loads = {"helper": helper_load, "cdc": solver_load}
    return sum(
        (fraction * loads[kind](partitions, solvers, r) for kind, r, fraction in parts if fraction),
        Fraction(0),
    )


def helper_load(partitions: int, solvers: int, r: int) -> Fraction:
    """Return the exact load L of the solver-helper scheme at solver degree r, padding included.

    The Q partitions are dealt to S solvers as evenly as can be: b = Q mod S of them reduce one more than
    c = Q div S, and each XOR is as long as its longest member. With S = Q it is (Q-r)/(Q(r+1)), Theorem 1 of
    Yu et al. 2017; the bundles are this project's extension.

    Raises UsageError unless 1 <= S <= Q and 0 <= r <= S.
    """
    if not 1 <= solvers <= partitions or not 0 <= r <= solvers:
        raise UsageError(f"no load for Q={partitions} partitions, S={solvers} solvers, r={r}")
    if r == solvers:
        return Fraction(0)
    return Fraction(solvers - r, r + 1) * _longest(partitions, solvers, r + 1)


def solver_load(partitions: int, solvers: int, r: int) -> Fraction:
    """Return the exact load L of symmetric CDC among S solvers at degree r, padding included.

    In every group of r+1 solvers each member sends one XOR of segments, an r-th of the longest bundle of
    the others. With S = Q it is (1/r)(1 - r/Q); the bundles are this project's extension.

    Raises UsageError unless 1 <= S <= Q and 1 <= r <= S.
    """
    if not 1 <= solvers <= partitions or not 1 <= r <= solvers:
        raise UsageError(f"no load for Q={partitions} partitions, S={solvers} sending solvers, r={r}")
    return Fraction(solvers - r, r) * _longest(partitions, solvers, r)


@lru_cache(maxsize=4096)
def _longest(partitions: int, solvers: int, members: int) -> Fraction:
    """Return the longest bundle of a group of solvers over Q, averaged over all groups of that size."""
    least, longer = divmod(partitions, solvers)
    if not longer:
        return Fraction(1, solvers)
    every = comb(solvers, members)
    return Fraction((least + 1) * every - comb(solvers - longer, members), partitions * every)
