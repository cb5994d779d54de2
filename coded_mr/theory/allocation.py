"""How many servers to use, and which: the optimal resource allocation, exactly.

Yu, Li, Maddah-Ali, Avestimehr, "How to Optimally Allocate Resources for Coded Distributed
Computing?", 2017 (arXiv 1702.07297): Theorem 1 (sequential phases), Theorem 2 (map and shuffle in
parallel), and the best uncoded allocations they are compared with. Integers and Fractions in,
Fractions out; closed forms on integer square roots, so that Q in the millions costs nothing and
ties are decided exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt

from coded_mr.theory.checks import check_functions
from coded_mr.theory.costs import Costs
from coded_mr.theory.load import Implementation, check_implementation, communication_load, helpers_needed

__all__ = [
    "Allocation",
    "Costs",
    "Implementation",
    "Row",
    "Uncoded",
    "communication_load",
    "helpers_needed",
    "minimisers",
    "parallel",
    "rows",
    "sequential",
    "sequential_time",
    "uncoded_parallel",
    "uncoded_sequential",
]


@dataclass(frozen=True)
class Allocation:
    """Describe the optimal use of any number of servers for Q functions.

    r_star   optimal computation load: how many solvers map each file, on average.
    r_plus   ceil(r_star); r_minus is r_plus - 1, or 0 when r_plus is 0.
    alpha    fraction of the files mapped by r_plus solvers, the others by r_minus; in (0, 1].
    k_star   fewest servers that attain t_star, solvers and helpers; None: only approached.
    t_star   least total time, in the unit of the costs.
    peak     p, the largest fraction of the files that one server maps; 0 in the limit of r_star = 0.
    load     L, the communication load in units of QNT bits.
    """

    implementation: Implementation
    Q: int
    costs: Costs
    r_star: Fraction
    r_minus: int
    r_plus: int
    alpha: Fraction
    k_star: int | None
    t_star: Fraction
    peak: Fraction
    load: Fraction

    @property
    def helpers(self) -> int | None:
        """Return how many of the k_star servers only map and send; None if no finite number is enough."""
        return None if self.k_star is None else self.k_star - self.Q

    @property
    def parts(self) -> tuple[tuple[int, Fraction], ...]:
        """Return (whole computation load, fraction of the files), larger load first, none empty."""
        if self.alpha == 1:
            return ((self.r_plus, self.alpha),)
        return ((self.r_plus, self.alpha), (self.r_minus, 1 - self.alpha))

    @property
    def helper_peak(self) -> Fraction:
        """Return the fraction of the files that each helper maps: 0 without helpers, and in the limit."""
        if not self.helpers:
            return Fraction(0)
        return sum((share for r, share in self.parts if r < self.Q), Fraction(0)) / self.helpers

    @property
    def t_map(self) -> Fraction:
        """Return the time of the map phase, c_m p."""
        return self.costs.map * self.peak

    @property
    def t_shuffle(self) -> Fraction:
        """Return the time of the shuffle phase, c_s L."""
        return self.costs.shuffle * self.load

    @property
    def t_reduce(self) -> Fraction:
        """Return the time of the reduce phase, c_r: every solver reduces one function."""
        return self.costs.reduce


@dataclass(frozen=True)
class Uncoded:
    """Describe the optimal allocation when every intermediate value is sent by itself.

    r is the average number of solvers that map a file, k the fewest servers that attain the time t
    (None: only approached).
    """

    implementation: Implementation
    Q: int
    r: Fraction
    k: int | None
    t: Fraction

    @property
    def peak(self) -> Fraction:
        """Return p, the largest fraction of the files that one server maps."""
        return self.r / self.Q

    @property
    def load(self) -> Fraction:
        """Return L = 1 - r / Q, in units of QNT bits."""
        return 1 - self.r / self.Q


@dataclass(frozen=True)
class Row:
    """Describe one whole computation load r, optimal or not, in the notation of the paper.

    p, L, times as in `Allocation`; helpers and K are None at r = 0, whose p = 0 is only approached.
    """

    r: int
    p: Fraction
    L: Fraction
    helpers: int | None
    K: int | None
    t_map: Fraction
    t_shuffle: Fraction
    t_reduce: Fraction
    total: Fraction


def sequential_time(Q: int, costs: Costs, r: int | Fraction) -> Fraction:
    """Return c_m r / Q + c_s Conv f(r) + c_r, the total time of sequential phases; 0 <= r <= Q."""
    load = communication_load(Q, r)
    return costs.map * r / Q + costs.shuffle * load + costs.reduce


def minimisers(Q: int, costs: Costs) -> tuple[int, ...]:
    """Return every whole r in 0..Q with the least sequential time, ascending: one, or two neighbours.

    Going from r - 1 to r pays off, or ties, iff r (r + 1) <= (Q + 1) c_s / c_m; ties iff equal.
    """
    check_functions(Q)
    bound = (Q + 1) * costs.shuffle / costs.map
    r = min(Q, (isqrt(4 * (bound.numerator // bound.denominator) + 1) - 1) // 2)
    return (r - 1, r) if r and r * (r + 1) == bound else (r,)


def sequential(Q: int, costs: Costs) -> Allocation:
    """Return the optimal allocation when map, shuffle and reduce follow one another.

    r_star is whole; ties go to the largest, which needs the fewest servers. r_star = 0 has no finite
    k_star. Raises UsageError unless Q is an int >= 1.
    Source: arXiv 1702.07297, Theorem 1.
    """
    r = minimisers(Q, costs)[-1]
    return _allocation("sequential", Q, costs, Fraction(r), sequential_time(Q, costs, r))


def parallel(Q: int, costs: Costs) -> Allocation:
    """Return the optimal allocation when map and shuffle run in parallel.

    r_star is where c_m r / Q meets c_s Conv f(r): one rational number in (0, Q), always with a
    finite k_star. Raises UsageError unless Q is an int >= 1.
    Source: arXiv 1702.07297, Theorem 2.
    """
    check_functions(Q)
    j = _last_shuffle_bound(Q, costs)
    r_star = (
        costs.shuffle * ((j + 1) * (2 * Q - j)) / (costs.map * ((j + 1) * (j + 2)) + costs.shuffle * (Q + 1))
    )
    return _allocation("parallel", Q, costs, r_star, costs.map * r_star / Q + costs.reduce)


def uncoded_sequential(Q: int, costs: Costs) -> Uncoded:
    """Return the uncoded optimum of sequential phases: map everything everywhere, or send everything.

    Source: arXiv 1702.07297, (15) and (16).
    """
    check_functions(Q)
    everywhere = costs.map <= costs.shuffle
    return Uncoded(
        implementation="sequential",
        Q=Q,
        r=Fraction(Q if everywhere else 0),
        k=Q if everywhere else None,
        t=min(costs.map, costs.shuffle) + costs.reduce,
    )


def uncoded_parallel(Q: int, costs: Costs) -> Uncoded:
    """Return the uncoded optimum when map and shuffle run in parallel, where both take equally long.

    Source: arXiv 1702.07297, (22) and (23).
    """
    check_functions(Q)
    both = costs.map + costs.shuffle
    return Uncoded(
        implementation="parallel",
        Q=Q,
        r=Q * costs.shuffle / both,
        k=max(Q, 1 + ceil(costs.map / costs.shuffle)),
        t=costs.map * costs.shuffle / both + costs.reduce,
    )


def rows(Q: int, costs: Costs, implementation: Implementation) -> tuple[Row, ...]:
    """Return one row for each whole computation load r = 0..Q.

    total is the sum of the phases for "sequential", and max(map, shuffle) + reduce for "parallel",
    whose optimum mostly lies between two of these rows. Time and memory grow with Q.
    Raises UsageError for a Q below 1 or an unknown implementation.
    """
    check_functions(Q)
    check_implementation(implementation)
    return tuple(_row(Q, costs, implementation, r) for r in range(Q + 1))


def _row(Q: int, costs: Costs, implementation: Implementation, r: int) -> Row:
    """Return the row of one whole computation load."""
    peak, load = Fraction(r, Q), communication_load(Q, r)
    helpers = helpers_needed(Q, r, implementation)
    t_map, t_shuffle = costs.map * peak, costs.shuffle * load
    both = t_map + t_shuffle if implementation == "sequential" else max(t_map, t_shuffle)
    return Row(
        r=r,
        p=peak,
        L=load,
        helpers=helpers,
        K=None if helpers is None else Q + helpers,
        t_map=t_map,
        t_shuffle=t_shuffle,
        t_reduce=costs.reduce,
        total=both + costs.reduce,
    )


def _last_shuffle_bound(Q: int, costs: Costs) -> int:
    """Return the largest j in 0..Q-1 at which the shuffle takes at least as long as the map.

    c_m j (j + 1) <= c_s (Q - j); with c_s / c_m = a / b, b j^2 + (a + b) j <= a Q.
    """
    ratio = costs.shuffle / costs.map
    a, b = ratio.numerator, ratio.denominator
    return (isqrt((a + b) ** 2 + 4 * a * b * Q) - (a + b)) // (2 * b)


def _allocation(
    implementation: Implementation, Q: int, costs: Costs, r_star: Fraction, t_star: Fraction
) -> Allocation:
    """Complete an allocation from its computation load and its time."""
    r_plus = ceil(r_star)
    r_minus = max(r_plus - 1, 0)
    helpers = helpers_needed(Q, r_star, implementation)
    return Allocation(
        implementation=implementation,
        Q=Q,
        costs=costs,
        r_star=r_star,
        r_minus=r_minus,
        r_plus=r_plus,
        alpha=r_star - r_minus if r_plus else Fraction(1),
        k_star=None if helpers is None else Q + helpers,
        t_star=t_star,
        peak=r_star / Q,
        load=communication_load(Q, r_star),
    )
