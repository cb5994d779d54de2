"""Every plan that some ranks allow, as candidates."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, Literal, TypeAlias

from coded_mr.plan.candidate import Candidate
from coded_mr.plan.ingredient import Ingredient, Kind, Team
from coded_mr.plan.machine import Machine
from coded_mr.theory.constrained import Mixture
from coded_mr.theory.hybrid import best_hybrid
from coded_mr.theory.mixture import best_mixture, mixture_for

if TYPE_CHECKING:
    from coded_mr.plan.planner import Request

__all__ = ["MAX_PACKETS", "Scheme", "offers_for"]

Scheme: TypeAlias = Literal[
    "solver-helper", "symmetric", "mixture", "resolvable", "replicated", "uncoded", "cascaded"
]

# A plan of more packets takes longer to write down and to walk than coding is likely to save.
MAX_PACKETS = 100_000

# With more ranks than this, mixtures are looked for at the best numbers of solvers and helpers only.
_FEW_RANKS = 40


def offers_for(request: Request, ranks: int, machine: Machine) -> Iterator[Candidate]:
    """Yield every candidate that meets the request, but for its computation load."""
    for candidate in _all(request, ranks, machine):
        if (
            candidate.packets <= MAX_PACKETS
            and (request.scheme is None or candidate.scheme == request.scheme)
            and (request.helpers is None or candidate.helpers == request.helpers)
        ):
            yield candidate


def _all(request: Request, ranks: int, machine: Machine) -> Iterator[Candidate]:
    Q = request.partitions
    if request.scheme == "cascaded":
        yield from _cascaded(request, ranks, machine)
        return

    def offer(scheme: Scheme, team: Team, kind: Kind, degree: int) -> Candidate:
        return Candidate(scheme, team, (Ingredient(kind, degree),), machine, request.implementation)

    for S in range(1, min(Q, ranks) + 1):
        spare = ranks - S
        alone = Team(Q, S, 0)
        for H in dict.fromkeys((0, spare) if request.helpers is None else (min(request.helpers, spare),)):
            yield offer("uncoded", Team(Q, S, H), "uncoded", 1)
        for r in _affordable_loads(S):
            H = 0 if r == S else min(spare, -(-S // r) if r else spare)
            if request.helpers is not None:
                H = request.helpers
            if spare >= H and (H == 0) == (r == S) and H * comb(S, r + 1) <= MAX_PACKETS:
                yield offer("solver-helper", Team(Q, S, H), "helper", r)
            # One rank a file is plain uncoded: other names for it are offered only when asked for.
            if (1 if request.scheme else 2) <= r < S:
                if comb(S, r + 1) * (r + 1) <= MAX_PACKETS:
                    yield offer("symmetric", alone, "cdc", r)
                if Q % S == 0 and S * (S - r) <= MAX_PACKETS:
                    yield offer("replicated", alone, "replicated", r)
        for r in range(2, S if Q % S == 0 else 0):
            if S % r == 0 and r * (S // r) ** r <= MAX_PACKETS:
                yield offer("resolvable", alone, "resolvable", r)
    yield from _mixtures(request, ranks, machine)


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


def _mixtures(request: Request, ranks: int, machine: Machine) -> Iterator[Candidate]:
    """Yield divisions of the files among degrees and senders, the best for the costs (THEORY 1.2, 1.6)."""
    Q, costs, implementation = request.partitions, machine.costs, request.implementation
    found: list[Mixture] = []
    if request.helpers is None:
        if ranks <= _FEW_RANKS:
            found += [
                mixture_for(Q, S, ranks - S, costs, implementation) for S in range(1, min(Q, ranks) + 1)
            ]
        found += [best(Q, ranks, costs, implementation) for best in (best_hybrid, best_mixture)]
    else:
        most = min(Q, ranks - request.helpers)
        found += [mixture_for(Q, S, request.helpers, costs, implementation) for S in range(1, most + 1)]
    for mixture in found:
        if len(mixture.parts) > 1:
            yield _mixed(mixture, machine)


def _mixed(mixture: Mixture, machine: Machine) -> Candidate:
    parts = tuple(Ingredient(part.kind, part.r, part.fraction) for part in mixture.parts)
    kinds = {part.kind for part in mixture.parts if part.r < mixture.solvers}
    alike: dict[str, Scheme] = {"helper": "solver-helper", "cdc": "symmetric"}
    scheme = alike[kinds.pop()] if len(kinds) == 1 else "mixture"
    helpers = mixture.helpers if mixture.helper_share else 0
    team = Team(mixture.partitions, mixture.solvers, helpers)
    return Candidate(scheme, team, parts, machine, mixture.implementation)


def _cascaded(request: Request, ranks: int, machine: Machine) -> Iterator[Candidate]:
    Q, s = request.partitions, request.s
    for K in range(max(s, 2), ranks + 1):
        if Q % comb(K, s) == 0:
            for r in range(1, K + 1):
                part = Ingredient("cascaded", r, Fraction(1))
                yield Candidate("cascaded", Team(Q, K, 0, s), (part,), machine, request.implementation)
