"""What plans are made of: a fraction of the files, and one way to map and send them."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Literal, NamedTuple, TypeAlias

from coded_mr.errors import PlanError
from coded_mr.plan.model import Plan
from coded_mr.plan.schemes import cascaded, replicated, resolvable, solver_helper, symmetric, uncoded
from coded_mr.theory.constrained import helper_load, solver_load
from coded_mr.theory.tradeoff import cascaded_load

__all__ = ["Ingredient", "Kind", "Numbers", "Team", "numbers_of", "plan_of", "senders_of"]

Kind: TypeAlias = Literal["helper", "cdc", "uncoded", "replicated", "resolvable", "cascaded"]


class Ingredient(NamedTuple):
    """Name a fraction of the files and how they are mapped and sent.

    "helper": on `degree` solvers and one helper, which sends (solver-helper); "cdc": on `degree` solvers,
    which send (symmetric); "uncoded": on one rank; "replicated": on `degree` solvers, sent uncoded;
    "resolvable": on `degree` solvers by a resolvable design; "cascaded": on `degree` solvers, and partitions
    reduced at several.
    """

    kind: Kind
    degree: int
    fraction: Fraction = Fraction(1)


class Team(NamedTuple):
    """Count who takes part: Q partitions, solvers, helpers, and s, the solvers that reduce each partition."""

    partitions: int
    solvers: int
    helpers: int
    s: int = 1


class Numbers(NamedTuple):
    """Hold what an ingredient costs when it has all the files.

    solver, helper  the fraction of the files that one of them maps
    receivers       of a packet; members: how many values it combines
    load            L, padding for bundles included
    """

    solver: Fraction
    helper: Fraction
    receivers: int
    members: int
    load: Fraction
    packets: int
    groups: int
    batches: int


def numbers_of(ingredient: Ingredient, team: Team) -> Numbers:
    """Return an ingredient's numbers; its fraction plays no part."""
    Q, S, H, s = team
    r = ingredient.degree
    own = Fraction(r, S)
    if ingredient.kind == "uncoded":
        share = Fraction(1, S + H)
        return Numbers(share, share if H else Fraction(0), 1, 1, 1 - share, (S + H - 1) * S, 0, S + H)
    if r == S:
        return Numbers(Fraction(1), Fraction(0), 1, 1, Fraction(0), 0, 0, 1)
    if ingredient.kind == "helper":
        packets, groups = H * comb(S, r + 1), comb(S, r + 1) if r else 0
        load, batches = helper_load(Q, S, r), H * comb(S, r)
        return Numbers(own, Fraction(1, H), r + 1, r + 1, load, packets, groups, batches)
    if ingredient.kind == "cdc":
        groups, batches = comb(S, r) if r > 1 else 0, comb(S, r)
        packets = comb(S, r + 1) * (r + 1)
        return Numbers(own, Fraction(0), r, r, solver_load(Q, S, r), packets, groups, batches)
    if ingredient.kind == "replicated":
        return Numbers(own, Fraction(0), 1, 1, 1 - own, S * (S - r), 0, S)
    if ingredient.kind == "resolvable":
        q = S // r
        batches = q ** (r - 1)
        lacking = batches * (q - 1)  # groups of one rank of each class that hold no common batch
        load = Fraction(q - 1, q * (r - 1)) * Fraction(S * -(-Q // S), Q)
        return Numbers(own, Fraction(0), r - 1, r - 1, load, r * lacking, r * lacking, batches)
    packets = sum(comb(S, size) * size for size in range(max(r + 1, s), min(r + s, S) + 1))
    load = cascaded_load(S, r, s)
    return Numbers(own, Fraction(0), r + s - 1, r, load, packets, packets, comb(S, r))


def senders_of(ingredient: Ingredient, team: Team) -> range:
    """Return the ranks that send an ingredient's packets."""
    first = team.solvers if ingredient.kind == "helper" else 0
    last = team.solvers + (team.helpers if ingredient.kind in ("helper", "uncoded") else 0)
    return range(first, last)


def plan_of(ingredient: Ingredient, team: Team) -> Plan:
    """Return the plan that treats all files as the ingredient says.

    Raises PlanError when there is none for that team.
    """
    Q, S, H, s = team
    r = ingredient.degree
    if ingredient.kind == "uncoded":
        return uncoded(Q, S, H)
    if ingredient.kind == "helper":
        return solver_helper(Q, S, r, H)
    if ingredient.kind == "cdc":
        return symmetric(Q, S, r)
    if ingredient.kind == "replicated":
        return replicated(Q, S, r)
    if ingredient.kind == "cascaded":
        return cascaded(Q, S, r, s)
    if S % r:
        raise PlanError(f"a resolvable design needs ranks that r divides: {S} are not a multiple of {r}")
    return resolvable(Q, S // r, r)
