"""Every partition reduced at several ranks, as the next job of a chain may want it: cascaded CDC."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import NamedTuple

from coded_mr.errors import PlanError
from coded_mr.plan.model import Batch, Packet, Plan, Term
from coded_mr.plan.schedule import bundles, disjoint_rounds
from coded_mr.plan.schemes.exchange import turns
from coded_mr.plan.verify import MAX_COMBINED

__all__ = ["cascaded"]


def cascaded(partitions: int, ranks: int, r: int, s: int) -> Plan:
    """Plan cascaded coded distributed computing: every file on r, every partition reduced at s of K ranks.

    The partitions are dealt to the C(K, s) reducer sets D as evenly as can be, batch B_T is mapped by the
    ranks of T, |T| = r. Take a group S of l = max(r+1, s) .. min(r+s, K) ranks and any r of them, T: the
    partitions with S minus T <= D <= S are those that all the others of S want of B_T, and none outside S.
    They are cut into r segments, one for each member of T. Every member of S thus holds C(l-1, r-1) segments,
    of which each other lacks C(l-2, r-1), and multicasts so many combinations of them. The load is
    `cascaded_load` of `coded_mr.theory.tradeoff` when C(K, s) divides the partitions; else every packet is
    as long as its longest term.

    Raises PlanError unless 1 <= r, s <= K and C(K, s) <= partitions, and when a packet would combine more
    than 255 terms.
    Source: Li et al. 2018 (arXiv 1604.07086), Theorem 2.
    """
    _check(partitions, ranks, r, s)
    sets = [D for together in disjoint_rounds(combinations(range(ranks), s), ranks) for D in together]
    dealt = dict(zip(sets, bundles(partitions, len(sets)), strict=True))
    owners = list(combinations(range(ranks), r))
    return Plan(
        scheme="cascaded",
        partitions=partitions,
        reduces=tuple(
            tuple(q for D, owned in dealt.items() if rank in D for q in owned) for rank in range(ranks)
        ),
        batches=tuple(Batch(T, Fraction(1, len(owners))) for T in owners),
        packets=tuple(_packets(ranks, r, s, dealt)),
    )


def _check(partitions: int, ranks: int, r: int, s: int) -> None:
    if not (1 <= r <= ranks and 1 <= s <= ranks):
        raise PlanError(f"no cascaded scheme has {ranks} ranks, r={r}, s={s}: r and s lie between 1 and K")
    if partitions < comb(ranks, s):
        raise PlanError(
            f"{partitions} partitions are too few to reduce each at {s} of {ranks} ranks: every such set of "
            f"ranks reduces one, so take {comb(ranks, s)} or more"
        )
    largest = min(r + s, ranks)
    terms = comb(largest - 1, r - 1)
    if r < ranks and comb(largest - 2, r - 1) > 1 and terms > MAX_COMBINED:
        raise PlanError(
            f"with {ranks} ranks, r={r} and s={s} a packet combines {terms} segments; no more than "
            f"{MAX_COMBINED} can be solved for, so take a smaller r or s"
        )


class _Group(NamedTuple):
    """Name a group S, and its subsets T with their batch and the partitions that all the others want."""

    members: tuple[int, ...]
    subsets: tuple[tuple[tuple[int, ...], int, tuple[int, ...]], ...]


def _packets(ranks: int, r: int, s: int, dealt: Mapping[tuple[int, ...], Sequence[int]]) -> Iterator[Packet]:
    position = {T: index for index, T in enumerate(combinations(range(ranks), r))}
    for size in range(max(r + 1, s), min(r + s, ranks) + 1):
        rounds = (
            [
                _Group(S, tuple((T, position[T], _wanted(S, T, s, dealt)) for T in combinations(S, r)))
                for S in together
            ]
            for together in disjoint_rounds(combinations(range(ranks), size), ranks)
        )
        for (members, subsets), i in turns(rounds, size):
            sender = members[i]
            terms = [Term(wanted, batch, T.index(sender), r) for T, batch, wanted in subsets if sender in T]
            receivers = members[:i] + members[i + 1 :]
            yield Packet(sender, receivers, tuple(terms), comb(size - 2, r - 1))


def _wanted(
    S: tuple[int, ...], T: tuple[int, ...], s: int, dealt: Mapping[tuple[int, ...], Sequence[int]]
) -> tuple[int, ...]:
    """Return the partitions whose reducers are all in S, with all of S minus T among them."""
    rest = tuple(rank for rank in S if rank not in T)
    chosen = combinations(T, s - len(rest))
    return tuple(q for more in chosen for q in dealt[tuple(sorted(rest + more))])
