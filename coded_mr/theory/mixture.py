"""The best division of the files among schemes when the ranks are fewer than the optimum wants.

S solvers share Q partitions and send, H helpers map and send. Every part of the files is at one degree r
(how many solvers map a file) and sent either by helpers or by the solvers themselves. That is a linear
program in the fractions, with p >= (mean degree) / S and H p >= (helpers' fraction); for S = Q its value is
the least time of any design without multi-function servers (the converse (29)-(31) of Yu et al. 2017, arXiv
1702.07297, has the same constraints and costs). It is solved in closed form.

At peak p the helpers take x = min(1, H p) of the files, for a file costs less from a helper than from
solvers at the same degree; what is left is to spend the degree S p. Both loads are convex, and one more
solver saves least load in the order (helper 0 to 1), (solvers 1 to 2), (helper 1 to 2), ..., because
  h(r) - h(r+1) <= s(r) - s(r+1)  and  s(r+1) - s(r+2) <= h(r) - h(r+1)
for the loads h and s of `coded_mr.theory.constrained`. So the least load as a function of p is the line
through these corners, each with both limits tight as long as H p <= 1:
  helpers at r and solvers at r,    p = r / S
  helpers at r and solvers at r+1,  p = (r+1) / (S+H)
  helpers alone at degree S / H,    p = 1 / H, two neighbouring whole degrees
  helpers alone at r > S / H,       p = r / S
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from coded_mr.errors import UsageError
from coded_mr.theory.checks import check_functions
from coded_mr.theory.constrained import Mixture, Part, check_servers, mixed_load
from coded_mr.theory.costs import Costs
from coded_mr.theory.load import Implementation, check_implementation

__all__ = ["best_mixture", "mixture_for", "solvers_by_bound"]


def mixture_for(
    partitions: int, solvers: int, helpers: int, costs: Costs, implementation: Implementation
) -> Mixture:
    """Return the mixture of least cost for S solvers and H helpers, at most three parts.

    Exact, by bisection over the corners of the module's docstring: S = 1,000 takes milliseconds. Among equal
    costs the larger computation load. Raises UsageError unless 1 <= S <= Q and H >= 0.
    Source: for S = Q the optimum of arXiv 1702.07297 (29)-(31); bundles are this project's extension.
    """
    check_functions(partitions)
    check_implementation(implementation)
    check_servers(partitions, solvers, helpers)
    corners = _Corners(partitions, solvers, helpers)
    sequential = implementation == "sequential"
    i = bisect_left(
        range(corners.count - 1),
        True,
        key=lambda i: (corners.rise if sequential else corners.gap)(i, costs) > 0,
    )
    parts = corners.parts(i)
    if i and not sequential:
        before, after = -corners.gap(i - 1, costs), corners.gap(i, costs)
        share = before / (before + after)
        parts = _scaled(corners.parts(i - 1), 1 - share) + _scaled(parts, share)
    return Mixture(implementation, partitions, costs, solvers, helpers, tuple(parts))


def best_mixture(partitions: int, ranks: int, costs: Costs, implementation: Implementation) -> Mixture:
    """Return the mixture of least cost over all solver and helper counts that P ranks allow.

    Exact. More helpers never cost more, so each S is tried with all the helpers that are left. Among equal
    costs the fewest ranks, then the most solvers. Raises UsageError for a Q or P below 1.
    Source: this project's extension of arXiv 1702.07297; with P >= K* it is Theorem 1 or 2.
    """
    search = _Search(partitions, ranks, costs, implementation)
    bounds = solvers_by_bound(partitions, ranks, costs, implementation)
    cost = search.least_cost(bounds)
    least, *others = sorted(S for bound, S in bounds if bound <= cost)
    fewest, most = ranks + 1, 0
    # Where any S will do, the least needs the fewest ranks and rules out all others: it goes first.
    for solvers in (least, *reversed(others)):
        spare = min(fewest - (solvers < most), ranks) - solvers
        if spare >= 0 and search.reaches(solvers, spare, cost):
            fewest, most = solvers + search.helpers_for(solvers, spare, cost), solvers
    return search.at(most, fewest - most)


def solvers_by_bound(
    partitions: int, ranks: int, costs: Costs, implementation: Implementation
) -> list[tuple[Fraction, int]]:
    """Return (a lower bound on the cost of any mixture with S solvers among P ranks, S), ascending.

    The bound is the cost without padding, as if S functions of equal size were reduced: exact if S divides Q.
    Raises UsageError for a Q or P below 1.
    """
    check_functions(partitions)
    if ranks < 1:
        raise UsageError(f"the number of ranks is {ranks}: there must be at least 1")
    search = _Search(partitions, ranks, costs, implementation)
    return sorted((search.bound(S, ranks - S), S) for S in range(1, min(partitions, ranks) + 1))


@dataclass(frozen=True)
class _Search:
    """Hold the mixtures among which one is looked for."""

    partitions: int
    ranks: int
    costs: Costs
    implementation: Implementation

    def at(self, solvers: int, helpers: int) -> Mixture:
        """Return the best mixture for S solvers and H helpers."""
        return mixture_for(self.partitions, solvers, helpers, self.costs, self.implementation)

    def bound(self, solvers: int, helpers: int) -> Fraction:
        """Return what the best mixture for S solvers and H helpers would cost if no packet were padded."""
        even = mixture_for(solvers, solvers, helpers, self.costs, self.implementation)
        return even.cost + self.costs.reduce * (-(-self.partitions // solvers) - 1)

    def least_cost(self, bounds: Iterable[tuple[Fraction, int]]) -> Fraction:
        """Return the least cost of all, given a bound for each S, ascending."""
        costs: list[Fraction] = []
        for bound, solvers in bounds:
            if costs and bound >= min(costs):
                break
            costs.append(self.at(solvers, self.ranks - solvers).cost)
        return min(costs)

    def reaches(self, solvers: int, helpers: int, cost: Fraction) -> bool:
        """Say whether S solvers and H helpers can do with a cost."""
        return self.bound(solvers, helpers) <= cost and self.at(solvers, helpers).cost <= cost

    def helpers_for(self, solvers: int, enough: int, cost: Fraction) -> int:
        """Return the fewest helpers, up to so many as are enough, with which S solvers reach a cost."""
        return bisect_left(range(enough), True, key=lambda helpers: self.reaches(solvers, helpers, cost))


def _scaled(parts: Iterable[Part], share: Fraction) -> list[Part]:
    """Return the parts of a share of the files."""
    return [part._replace(fraction=part.fraction * share) for part in parts]


class _Corners:
    """Number the corners of the least load over the peak, in order of rising peak, the last at p = 1."""

    def __init__(self, partitions: int, solvers: int, helpers: int) -> None:
        self.partitions, self.solvers, self.helpers = partitions, solvers, helpers
        self.whole, rest = divmod(solvers, helpers) if helpers else (0, 0)
        # With H | S the corner at p = 1/H is the one of helpers at S/H whose solvers have nothing left.
        self.shared = 2 * self.whole + (rest > 0)
        self.edge = int(rest > 0)
        self.count = self.shared + self.edge + solvers - self.whole

    def parts(self, i: int) -> list[Part]:
        """Return the parts of corner i."""
        S, H = self.solvers, self.helpers
        if not H:
            return [Part("cdc", i + 1, Fraction(1))]
        if i < self.shared:
            r, own = (i + 1) // 2, i // 2 + 1
            share = Fraction(own * H, S + H * (own - r))
            return [Part("helper", r, share), Part("cdc", own, 1 - share)]
        if self.edge and i == self.shared:
            more = Fraction(S, H) - self.whole
            return [Part("helper", self.whole, 1 - more), Part("helper", self.whole + 1, more)]
        return [Part("helper", self.whole + 1 + i - self.shared - self.edge, Fraction(1))]

    def point(self, i: int) -> tuple[Fraction, Fraction]:
        """Return (p, L) of corner i."""
        parts = self.parts(i)
        degree = sum((part.r * part.fraction for part in parts), Fraction(0))
        return degree / self.solvers, mixed_load(self.partitions, self.solvers, parts)

    def rise(self, i: int, costs: Costs) -> Fraction:
        """Return by how much map and shuffle, one after the other, take longer at corner i + 1 than at i."""
        (peak, load), (more, less) = self.point(i), self.point(i + 1)
        return costs.map * (more - peak) - costs.shuffle * (load - less)

    def gap(self, i: int, costs: Costs) -> Fraction:
        """Return by how much map takes longer than shuffle at corner i."""
        peak, load = self.point(i)
        return costs.map * peak - costs.shuffle * load
