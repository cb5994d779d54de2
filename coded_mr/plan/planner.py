"""Choice of a plan for the ranks at hand: predict every feasible plan's time, take the least."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import comb

from coded_mr.errors import PlanError, UsageError
from coded_mr.plan.model import Plan
from coded_mr.plan.schemes import solver_helper, uncoded
from coded_mr.text import counted
from coded_mr.theory.allocation import Allocation, Costs, sequential
from coded_mr.theory.constrained import helper_load

__all__ = ["MAX_PACKETS", "SCHEMES", "Candidate", "Decision", "Request", "decide", "wanted_ranks"]

SCHEMES = ("solver-helper", "uncoded")

# A plan of more packets takes longer to write down and to walk than coding is likely to save.
MAX_PACKETS = 100_000


@dataclass(frozen=True)
class Request:
    """Hold what is asked of the planner; None leaves the choice to it.

    `ranks` None means as many as the plan wants. A computation load that no plan for these ranks has is
    replaced by the nearest that one has, and the decision says so.
    """

    partitions: int
    ranks: int | None = None
    r: int | None = None
    helpers: int | None = None
    scheme: str | None = None

    def __post_init__(self) -> None:
        """Refuse numbers out of range; raises UsageError."""
        for name, value, least in (
            ("partitions", self.partitions, 1),
            ("ranks", self.ranks, 1),
            ("the computation load", self.r, 0),
            ("helpers", self.helpers, 0),
        ):
            if value is not None and value < least:
                raise UsageError(f"{name} must be at least {least}, not {value}")
        if self.r is not None and self.r > self.partitions:
            raise UsageError(
                f"computation load {self.r} is more than {self.partitions} partitions: a file is mapped "
                f"by at most that many solvers"
            )
        if self.scheme is not None and self.scheme not in SCHEMES:
            raise UsageError(f"no scheme is called {self.scheme!r}; there are: {', '.join(SCHEMES)}")


@dataclass(frozen=True)
class Candidate:
    """Describe one feasible plan by its numbers: loads exact, times predicted from the costs."""

    scheme: str
    partitions: int
    solvers: int
    helpers: int
    r: Fraction
    peak: Fraction
    load: Fraction
    packets: int
    costs: Costs

    @property
    def ranks(self) -> int:
        """Return the ranks that the plan needs."""
        return self.solvers + self.helpers

    @property
    def t_map(self) -> Fraction:
        """Return the predicted map time, c_m p."""
        return self.costs.map * self.peak

    @property
    def t_shuffle(self) -> Fraction:
        """Return the predicted shuffle time, c_s L."""
        return self.costs.shuffle * self.load

    @property
    def t_reduce(self) -> Fraction:
        """Return the predicted reduce time, c_r times the most partitions that one solver reduces."""
        return self.costs.reduce * -(-self.partitions // self.solvers)

    @property
    def total(self) -> Fraction:
        """Return the predicted time of the sequential implementation."""
        return self.t_map + self.t_shuffle + self.t_reduce

    def build(self) -> Plan:
        """Return the plan itself."""
        if self.scheme == "uncoded":
            return uncoded(self.partitions, self.solvers, self.helpers)
        return solver_helper(self.partitions, self.solvers, int(self.r), self.helpers)

    def __str__(self) -> str:
        """Return the numbers in a line."""
        ranks = f"{counted(self.solvers, 'solver')} and {counted(self.helpers, 'helper')}"
        return f"{self.scheme} with {ranks}, r={self.r}"


@dataclass(frozen=True)
class Decision:
    """Hold what the planner chose, the unconstrained optimum beside it, and why."""

    request: Request
    optimum: Allocation
    chosen: Candidate
    considered: tuple[Candidate, ...]
    reasons: tuple[str, ...]


def decide(request: Request, costs: Costs) -> Decision:
    """Choose the feasible plan with the least predicted time of the sequential implementation.

    Ties go to fewer ranks, then to the larger computation load. With K* ranks or more and nothing else
    asked, this is the optimum of Theorem 1 (Yu et al. 2017). A forced load or helper count keeps the paper's
    design where the ranks allow it: one solver a partition, solver-helper.

    Raises PlanError when no plan meets the request.
    """
    optimum = sequential(request.partitions, costs)
    ranks = request.ranks or wanted_ranks(request, costs) or 2 * request.partitions
    candidates = [c for c in _candidates(request, ranks, costs) if _meets(request, c)]
    notes = []
    wanted = request.r
    if wanted is not None and candidates:
        nearest = min((abs(c.r - wanted), -c.r) for c in candidates)
        candidates = [c for c in candidates if (abs(c.r - wanted), -c.r) == nearest]
        if nearest[0]:
            notes.append(
                f"r={wanted} does not fit {counted(ranks, 'rank')}: "
                f"r={candidates[0].r} is the nearest that does"
            )
    if wanted is not None or request.helpers is not None:
        full = [c for c in candidates if c.solvers == request.partitions]
        candidates = [c for c in full if c.scheme == "solver-helper"] or full or candidates
    if not candidates:
        raise PlanError(_nothing_fits(request, ranks))
    chosen = min(candidates, key=lambda c: (c.total, c.ranks, -c.r, c.scheme))
    reasons = (*notes, *_reasons(request, ranks, optimum, chosen, len(candidates)))
    return Decision(request, optimum, chosen, tuple(candidates), reasons)


def wanted_ranks(request: Request, costs: Costs | None) -> int | None:
    """Return the ranks that a request wants when it names none.

    K* of Theorem 1, unless a computation load, helpers or a scheme are asked for. None when nothing tells:
    no costs are known, or K* is not finite.
    """
    Q, r = request.partitions, request.r
    if request.helpers is not None:
        return Q + request.helpers
    if request.scheme == "uncoded":
        return Q
    if r is not None:
        return Q if r == Q else Q + (-(-Q // r) if r else 1)
    return None if costs is None else sequential(Q, costs).k_star


def _candidates(request: Request, ranks: int, costs: Costs) -> Iterator[Candidate]:
    Q = request.partitions
    for S in range(1, min(Q, ranks) + 1):
        spare = ranks - S
        for H in dict.fromkeys((0, spare) if request.helpers is None else (request.helpers,)):
            if spare >= H:
                share = Fraction(1, S + H)
                packets = (S + H - 1) * S
                yield Candidate("uncoded", Q, S, H, S * share, share, 1 - share, packets, costs)
        for r in _affordable_loads(S):
            H = 0 if r == S else min(spare, -(-S // r) if r else spare)
            if request.helpers is not None:
                H = request.helpers
            if (H == 0) != (r == S) or spare < H or H * comb(S, r + 1) > MAX_PACKETS:
                continue
            peak = Fraction(1) if r == S else max(Fraction(r, S), Fraction(1, H))
            load, packets = helper_load(Q, S, r), H * comb(S, r + 1)
            yield Candidate("solver-helper", Q, S, H, Fraction(r), peak, load, packets, costs)


def _affordable_loads(solvers: int) -> Iterator[int]:
    """Yield the r whose C(S, r+1) groups are few enough: small ones, and those near S."""
    r = 0
    while r <= solvers and comb(solvers, r + 1) <= MAX_PACKETS:
        yield r
        r += 1
    top = solvers
    while top > r and comb(solvers, top + 1) <= MAX_PACKETS:
        yield top
        top -= 1


def _meets(request: Request, candidate: Candidate) -> bool:
    return (request.scheme is None or candidate.scheme == request.scheme) and (
        request.helpers is None or candidate.helpers == request.helpers
    )


def _nothing_fits(request: Request, ranks: int) -> str:
    asked = [counted(ranks, "rank"), counted(request.partitions, "partition")]
    asked += [f"scheme {request.scheme}"] if request.scheme else []
    asked += [f"r={request.r}"] if request.r is not None else []
    asked += [counted(request.helpers, "helper")] if request.helpers is not None else []
    return (
        f"no plan fits {', '.join(asked)}: at least one rank must be a solver, helpers are the rest; "
        f"solver-helper needs a helper unless r is the number of solvers, and at most {MAX_PACKETS} packets"
    )


def _reasons(
    request: Request, ranks: int, optimum: Allocation, chosen: Candidate, count: int
) -> Iterator[str]:
    Q = request.partitions
    theorem = f"Theorem 1 for Q={Q}: r*={optimum.r_star}, K*={optimum.k_star or 'none (only approached)'}"
    if request.r is not None or request.helpers is not None or request.scheme is not None:
        yield f"{chosen}, as asked; {theorem}"
    elif chosen.total == optimum.t_star:
        yield f"{chosen}: the optimum. {theorem}"
    else:
        excess = float(chosen.total / optimum.t_star - 1) if optimum.t_star else 0.0
        yield (
            f"{chosen}: the fastest of {counted(count, 'plan')} for {counted(ranks, 'rank')}, "
            f"{excess:.1%} above the optimum. {theorem}"
        )
    if ranks > chosen.ranks:
        yield f"{counted(ranks - chosen.ranks, 'spare')} among {ranks} ranks: this plan has no use for more"
