"""Choice of a plan for the ranks at hand: predict every feasible plan's time, take the least."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

from coded_mr.errors import PlanError, UsageError
from coded_mr.plan.candidate import Candidate
from coded_mr.plan.machine import Machine
from coded_mr.plan.offers import MAX_PACKETS, Scheme, offers_for
from coded_mr.text import counted, fraction_text
from coded_mr.theory.allocation import Allocation, parallel, sequential
from coded_mr.theory.costs import Costs
from coded_mr.theory.load import Implementation

__all__ = ["SCHEMES", "Decision", "Request", "decide", "wanted_ranks"]

_OPTIMA = {"sequential": sequential, "parallel": parallel}
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)


@dataclass(frozen=True)
class Request:
    """Hold what is asked of the planner; None leaves the choice to it.

    `ranks` None means as many as the plan wants. A computation load that no plan for these ranks has is
    replaced by the nearest that one has, and the decision says so. `s`, at how many solvers each partition
    is reduced, is 1 but for the scheme "cascaded".
    """

    partitions: int
    ranks: int | None = None
    r: int | None = None
    helpers: int | None = None
    scheme: Scheme | None = None
    implementation: Implementation = "sequential"
    s: int = 1

    def __post_init__(self) -> None:
        """Refuse numbers out of range; raises UsageError."""
        for name, value, least in (
            ("partitions", self.partitions, 1),
            ("ranks", self.ranks, 1),
            ("the computation load", self.r, 0),
            ("helpers", self.helpers, 0),
            ("s", self.s, 1),
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
        if self.s > 1 and self.scheme != "cascaded":
            raise UsageError(f"s={self.s}: only the scheme cascaded reduces a partition at several solvers")


@dataclass(frozen=True)
class Decision:
    """Hold what the planner chose, the unconstrained optimum beside it, and why.

    `considered` has every candidate, the fastest first.
    """

    request: Request
    optimum: Allocation
    chosen: Candidate
    considered: tuple[Candidate, ...]
    reasons: tuple[str, ...]

    @property
    def machine(self) -> Machine:
        """Return the machine on which the chosen plan is the fastest."""
        return self.chosen.machine


def decide(request: Request, machine: Machine | Costs | Sequence[Machine]) -> Decision:
    """Choose the feasible plan with the least predicted time on a machine, or on any of several.

    Ties go to fewer ranks, then to the larger computation load. With K* ranks or more, nothing else asked
    and an ideal machine (which costs alone describe), this is the optimum of Theorem 1, or of Theorem 2 for
    the parallel implementation (Yu et al. 2017). A forced load or helper count keeps the paper's design
    where the ranks allow it: one solver a partition, solver-helper.

    Several machines are the same one by different transports: the costs of the first say how many ranks are
    wanted. Raises PlanError when no plan meets the request.
    """
    machines = _machines(machine)
    ranks = request.ranks or wanted_ranks(request, machines[0].costs) or 2 * request.partitions
    offers = [offer for one in machines for offer in offers_for(request, ranks, one)]
    candidates, notes = _as_forced(request, ranks, offers)
    if not candidates:
        raise PlanError(_nothing_fits(request, ranks))
    ordered = sorted(candidates, key=lambda c: (c.total, c.ranks, -c.r, c.scheme))
    optimum = _OPTIMA[request.implementation](request.partitions, ordered[0].machine.costs)
    reasons = (*notes, *_reasons(request, ranks, optimum, ordered))
    return Decision(request, optimum, ordered[0], tuple(ordered), reasons)


def _machines(machine: Machine | Costs | Sequence[Machine]) -> Sequence[Machine]:
    if isinstance(machine, Costs):
        return (Machine(machine),)
    return (machine,) if isinstance(machine, Machine) else machine


def wanted_ranks(request: Request, costs: Costs | None) -> int | None:
    """Return the ranks that a request wants when it names none.

    K* of the theorem, unless a computation load, helpers or a scheme without helpers are asked for. None
    when nothing tells: no costs are known, or K* is not finite.
    """
    Q, r = request.partitions, request.r
    if request.helpers is not None:
        return Q + request.helpers
    if request.scheme not in (None, "solver-helper", "mixture"):
        return Q
    if r is not None:
        return Q if r == Q else Q + (-(-Q // r) if r else 1)
    return None if costs is None else _OPTIMA[request.implementation](Q, costs).k_star


def _as_forced(request: Request, ranks: int, offers: list[Candidate]) -> tuple[list[Candidate], list[str]]:
    """Keep the candidates that are nearest to what is forced, and say what could not be had."""
    wanted, notes = request.r, []
    if wanted is not None and offers:
        nearest = min((abs(c.r - wanted), -c.r) for c in offers)
        offers = [c for c in offers if (abs(c.r - wanted), -c.r) == nearest]
        if nearest[0]:
            notes.append(
                f"r={wanted} does not fit {counted(ranks, 'rank')}: r={offers[0].r} is the nearest that does"
            )
    if wanted is not None or request.helpers is not None:
        full = [c for c in offers if c.solvers == request.partitions]
        offers = [c for c in full if c.scheme == "solver-helper"] or full or offers
    return offers, notes


def _nothing_fits(request: Request, ranks: int) -> str:
    asked = [counted(ranks, "rank"), counted(request.partitions, "partition")]
    asked += [f"scheme {request.scheme}"] if request.scheme else []
    asked += [f"r={request.r}"] if request.r is not None else []
    asked += [counted(request.helpers, "helper")] if request.helpers is not None else []
    asked += [f"s={request.s}"] if request.s > 1 else []
    return (
        f"no plan fits {', '.join(asked)}: at least one rank must be a solver, helpers are the rest; "
        f"solver-helper needs a helper unless r is the number of solvers; resolvable needs ranks that r "
        f"divides; cascaded needs a partition for every {request.s} of the ranks; and a plan has at most "
        f"{MAX_PACKETS} packets"
    )


def _reasons(request: Request, ranks: int, optimum: Allocation, ordered: list[Candidate]) -> Iterator[str]:
    chosen = ordered[0]
    number = {"sequential": 1, "parallel": 2}[request.implementation]
    theorem = (
        f"Theorem {number} for Q={request.partitions}: r*={fraction_text(optimum.r_star)}, "
        f"K*={optimum.k_star or 'none (only approached)'}"
    )
    forced = request.r is not None or request.helpers is not None or request.scheme is not None
    if forced:
        yield f"{chosen}, as asked; {theorem}"
    elif chosen.total == optimum.t_star:
        yield f"{chosen}: the optimum. {theorem}"
    else:
        yield (
            f"{chosen}: the fastest of {counted(len(ordered), 'plan')} "
            f"for {counted(ranks, 'rank')}. {theorem}"
        )
    if not forced:
        rivals = {c.scheme: c for c in reversed(ordered) if c.scheme != chosen.scheme}
        shown = sorted(rivals.values(), key=lambda c: c.total)[:3]
        if shown and chosen.total:
            yield "slower: " + ", ".join(f"{c} {_excess(c, chosen)}" for c in shown)
    if ranks > chosen.ranks:
        yield f"{counted(ranks - chosen.ranks, 'spare')} among {ranks} ranks: this plan has no use for more"


def _excess(candidate: Candidate, chosen: Candidate) -> str:
    times = float(candidate.total / chosen.total)
    return f"by {times - 1:.1%}" if times < 10 else "by more than 10 times"
