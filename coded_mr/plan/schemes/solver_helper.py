"""Solvers that map and reduce, helpers that map, encode and multicast (Yu et al. 2017, section IV)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

from coded_mr.errors import PlanError
from coded_mr.plan.model import Batch, Packet, Plan, Term
from coded_mr.plan.schedule import bundles, disjoint_rounds

__all__ = ["solver_helper"]


def solver_helper(partitions: int, solvers: int, r: int, helpers: int) -> Plan:
    """Plan the scheme of Theorem 1: every file on r of the solvers and on one helper.

    Solvers are ranks 0..solvers-1, helpers the ranks after them. Batch B_{i,A} is mapped by helper i and
    the solvers of A, |A| = r; helper i sends Y_{i,S} = XOR over k in S of V[k, B_{i, S minus k}] to every
    S of r+1 solvers. r = 0 is plain unicast from the helpers; at r = solvers nothing travels and no helper
    is needed. With fewer solvers than partitions a solver reduces a bundle of them.

    Raises PlanError when the numbers fit no such plan.
    """
    if partitions < 1 or not 1 <= solvers <= partitions:
        raise PlanError(f"{solvers} solvers cannot share {partitions} partitions: 1 <= solvers <= partitions")
    if not 0 <= r <= solvers:
        raise PlanError(f"computation load r={r} is outside 0..{solvers}, the number of solvers")
    if r == solvers and helpers:
        raise PlanError(f"at r={r} every solver maps everything: helpers have nothing to send, not {helpers}")
    if r < solvers and helpers < 1:
        raise PlanError(f"r={r} with {solvers} solvers needs at least one helper")
    reduces = (*bundles(partitions, solvers), *((),) * helpers)
    if r == solvers:
        everything = Batch(tuple(range(solvers)), Fraction(1))
        return Plan("solver-helper", partitions, reduces, (everything,), ())
    owners = list(combinations(range(solvers), r))
    share = Fraction(1, helpers * len(owners))
    return Plan(
        scheme="solver-helper",
        partitions=partitions,
        reduces=reduces,
        batches=tuple(Batch((*A, solvers + i), share) for A in owners for i in range(helpers)),
        packets=tuple(_packets(reduces, solvers, r, helpers, owners)),
    )


def _packets(
    reduces: Sequence[tuple[int, ...]], solvers: int, r: int, helpers: int, owners: list[tuple[int, ...]]
) -> Iterator[Packet]:
    """Yield every Y_{i,S}, ordered so that all helpers send at once, each to groups of its own.

    The rounds of disjoint subsets are taken in blocks of as many rounds as there are helpers; in a block,
    helper i serves round b in step (i - b) mod helpers. A group is thus used again only a block's step later.
    """
    position = {A: index for index, A in enumerate(owners)}
    rounds = disjoint_rounds(combinations(range(solvers), r + 1), solvers)
    for start in range(0, len(rounds), helpers):
        block = rounds[start : start + helpers]
        for step in range(helpers):
            for b, disjoint in enumerate(block):
                i = (b + step) % helpers
                for S in disjoint:
                    terms = (
                        Term(reduces[k], position[S[:j] + S[j + 1 :]] * helpers + i) for j, k in enumerate(S)
                    )
                    yield Packet(solvers + i, S, tuple(terms))
