"""The best plan with one degree for helpers and one for solvers, when ranks are fewer than the optimum wants.

The deployable relative of `coded_mr.theory.mixture`: helpers send a fraction x of the files at degree r,
solvers the others at degree r or r+1. This project's extension of Yu et al. 2017 (arXiv 1702.07297); when
the ranks suffice it is Theorem 1.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from coded_mr.theory.constrained import Mixture, Part, helper_load
from coded_mr.theory.costs import Costs
from coded_mr.theory.load import Implementation
from coded_mr.theory.mixture import solvers_by_bound

__all__ = ["best_hybrid"]


def best_hybrid(partitions: int, ranks: int, costs: Costs, implementation: Implementation) -> Mixture:
    """Return the hybrid of least cost over solvers S, helpers H, degrees and fraction that P ranks allow.

    Exact. Of equal costs the one with the fewest ranks, then the largest degrees (a degree without files
    counts as the other), then the most solvers, then the smallest x. What makes a thousand ranks quick: no
    hybrid beats the mixture of its S, and for given degrees more helpers never cost more.
    Raises UsageError for a Q or P below 1.
    """
    (_, likely), *others = solvers_by_bound(partitions, ranks, costs, implementation)
    best = _Family(implementation, partitions, costs, likely, ranks).improve(None)
    for bound, solvers in others:
        if bound < best.cost or (bound == best.cost and solvers <= best.ranks):
            best = _Family(implementation, partitions, costs, solvers, ranks).improve(best)
    return best


@dataclass(frozen=True)
class _Family:
    """Hold the hybrids of S solvers among P ranks."""

    implementation: Implementation
    partitions: int
    costs: Costs
    solvers: int
    ranks: int

    def improve(self, best: Mixture | None) -> Mixture:
        """Return the preferred one of the best so far and every hybrid of this family.

        Degrees are tried outwards from where their floor, which is convex, is least, until it is too high.
        """
        S = self.solvers
        start = bisect_left(range(S), True, key=lambda r: self._floor(r) <= self._floor(r + 1))
        best = self._improve_at(start, best)
        for degrees in (range(start + 1, S + 1), range(start - 1, -1, -1)):
            for r in degrees:
                if self._floor(r) > best.cost:
                    break
                best = self._improve_at(r, best)
        return best

    def _floor(self, r: int) -> Fraction:
        """Return a cost that no hybrid of degrees r and r or r+1 can be below."""
        S = self.solvers
        t_map = self.costs.map * Fraction(r, S)
        t_shuffle = self.costs.shuffle * helper_load(self.partitions, S, min(r + 1, S))
        both = t_map + t_shuffle if self.implementation == "sequential" else max(t_map, t_shuffle)
        return both + self.costs.reduce * -(-self.partitions // S)

    def _improve_at(self, r: int, best: Mixture | None) -> Mixture:
        """Return the preferred one of the best so far and the hybrids at helper degree r."""
        spare = self.ranks - self.solvers
        owns = [own for own in (r, r + 1) if own <= self.solvers and (own or spare)]
        cheapest = {own: min(hybrid.cost for hybrid in self._hybrids(r, own, spare)) for own in owns}
        least = min(cheapest.values())
        if best and best.cost < least:
            return best
        found = [] if best is None else [best]
        for own in owns:
            if cheapest[own] == least:
                found += self._with_fewest_helpers(r, own, least)
        return min(found, key=_preference)

    def _with_fewest_helpers(self, r: int, own: int, cost: Fraction) -> list[Mixture]:
        """Return the hybrids of two degrees with the fewest helpers that reach a cost."""
        needed = 0 if own else 1

        def reaches(helpers: int) -> bool:
            return min(hybrid.cost for hybrid in self._hybrids(r, own, helpers)) <= cost

        # Mostly every helper is needed: seeing that first spares a search for each of many tied S.
        spare = self.ranks - self.solvers
        if needed < spare and reaches(spare - 1):
            spare = needed + bisect_left(range(needed, spare - 1), True, key=reaches)
        return self._hybrids(r, own, spare)

    def _hybrids(self, r: int, own: int, helpers: int) -> list[Mixture]:
        """Return the hybrids of helper degree r and solver degree `own`, one of which is the best over all x.

        The time is linear in x but for a kink where helpers start to map the most, and, in parallel, where
        map and shuffle take equally long.
        """
        S, H = self.solvers, helpers
        if r == S or not H:
            return [self._at(r, own, H, Fraction(0))]
        if not own:
            return [self._at(r, own, H, Fraction(1))]
        kinks = sorted({Fraction(0), min(Fraction(1), Fraction(own * H, S + (own - r) * H)), Fraction(1)})
        found = [self._at(r, own, H, x) for x in kinks]
        if self.implementation == "parallel":
            gaps = [hybrid.times.map - hybrid.times.shuffle for hybrid in found]
            for i, (a, b) in enumerate(pairwise(gaps)):
                if a * b < 0:
                    found.append(self._at(r, own, H, kinks[i] + (kinks[i + 1] - kinks[i]) * a / (a - b)))
        return found

    def _at(self, r: int, own: int, helpers: int, x: Fraction) -> Mixture:
        """Return one hybrid."""
        parts = (Part("helper", r, x), Part("cdc", own, 1 - x))
        return Mixture(self.implementation, self.partitions, self.costs, self.solvers, helpers, parts)


def _preference(hybrid: Mixture) -> tuple[Fraction, int, int, int, int, Fraction]:
    """Return what is least for the hybrid to take."""
    r, own = hybrid.parts[0].r, hybrid.parts[-1].r
    return hybrid.cost, hybrid.ranks, -r, -own, -hybrid.solvers, hybrid.helper_share
