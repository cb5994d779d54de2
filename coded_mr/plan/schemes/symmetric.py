"""Ranks that are all alike: each maps, sends and reduces (Li et al. 2018, arXiv 1604.07086)."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

from coded_mr.errors import PlanError
from coded_mr.plan.model import Batch, Plan
from coded_mr.plan.schedule import disjoint_rounds
from coded_mr.plan.schemes.dealing import deal_to_all
from coded_mr.plan.schemes.exchange import Exchange, exchange
from coded_mr.plan.schemes.uncoded import uncoded

__all__ = ["symmetric"]


def symmetric(partitions: int, ranks: int, r: int) -> Plan:
    """Plan coded distributed computing among K ranks that all reduce: every file on r of them.

    Batch B_T is mapped by the ranks of T, |T| = r. In every group S of r+1 ranks, member k lacks the batch
    of S minus k, which all others map; each member sends one XOR of r segments. That makes (r+1) C(K, r+1)
    packets, none at r = K, the unicasts of `uncoded` at r = 1. The load is (1/r)(1 - r/K) when K divides the
    partitions, else `coded_mr.theory.constrained.solver_load`.

    Raises PlanError unless 1 <= r <= ranks <= partitions.
    Source: arXiv 1604.07086, Theorem 1.
    """
    reduces = deal_to_all(partitions, ranks, "symmetric")
    if not 1 <= r <= ranks:
        raise PlanError(f"computation load r={r} is outside 1..{ranks}, the number of ranks")
    owners = list(combinations(range(ranks), r))
    position = {T: index for index, T in enumerate(owners)}
    rounds = [
        [Exchange(S, tuple(position[S[:j] + S[j + 1 :]] for j in range(r + 1))) for S in together]
        for together in disjoint_rounds(combinations(range(ranks), r + 1), ranks)
    ]
    return Plan(
        scheme="symmetric",
        partitions=partitions,
        reduces=reduces,
        batches=tuple(Batch(T, Fraction(1, len(owners))) for T in owners),
        packets=uncoded(partitions, ranks).packets if r == 1 else tuple(exchange(rounds, r + 1, reduces)),
    )
