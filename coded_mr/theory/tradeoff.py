"""How communication falls as computation is repeated, when all servers map, send and reduce alike.

Li, Maddah-Ali, Yu, Avestimehr, "A Fundamental Tradeoff Between Computation and Communication in
Distributed Computing", 2018 (arXiv 1604.07086): K servers, every file on r of them, every function
reduced at s of them. Konstantinidis and Ramamoorthy, "Resolvable Designs for Speeding Up Distributed
Computing", 2020, for a placement with far fewer batches. Loads are in units of QNT bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb

from coded_mr.errors import UsageError
from coded_mr.theory.checks import as_fraction

__all__ = [
    "Level",
    "Resolvable",
    "cascaded_levels",
    "cascaded_load",
    "cdc_load",
    "resolvable",
    "uncoded_load",
]


@dataclass(frozen=True)
class Level:
    """Count what one group size of the cascaded shuffle sends.

    size      l, the servers of a group.
    groups    C(K, l) groups of that size.
    held      segments that one member knows of all that is exchanged in its group, C(l-1, r-1).
    messages  combinations that each member multicasts to the others, C(l-2, r-1).
    block     intermediate values in what one r-subset of the group alone knows and all others of the group
              want, C(r, l-s), for one file a batch and one function a reducer set; a segment is an r-th.
    """

    size: int
    groups: int
    held: int
    messages: int
    block: int


@dataclass(frozen=True)
class Resolvable:
    """Describe the placement from a resolvable design: K = k q servers, every file on k of them.

    batches, groups and packets count the whole plan; load is L.
    """

    k: int
    q: int
    batches: int
    groups: int
    packets: int
    load: Fraction

    @property
    def servers(self) -> int:
        """Return K."""
        return self.k * self.q


def cdc_load(K: int, r: int | Fraction) -> Fraction:
    """Return L(r) = (1/r)(1 - r/K), the least load when every file is on r of K servers that all reduce.

    1 <= r <= K; between whole numbers the lower convex envelope, which is the line between neighbours
    because L is convex: reached by splitting the files. Raises UsageError for other r, or K below 1.
    Source: arXiv 1604.07086, Theorem 1.
    """
    degree = _degree(K, r)
    low = degree.numerator // degree.denominator
    share = degree - low
    return (1 - share) * Fraction(K - low, K * low) + share * Fraction(K - low - 1, K * (low + 1))


def uncoded_load(K: int, r: int | Fraction) -> Fraction:
    """Return 1 - r/K, the load when every missing value is sent by itself; ranges as in `cdc_load`."""
    return 1 - _degree(K, r) / K


def cascaded_load(K: int, r: int, s: int) -> Fraction:
    """Return L*(r, s), the least load when each function is reduced at s of the K servers.

    The sum over d, how many of a function's s reducers lack a value: Lemma 1 of arXiv 1702.07297 on the
    symmetric placement, which the shuffle of `cascaded_levels` meets. L*(r, 1) is `cdc_load`.
    Raises UsageError unless r and s are whole numbers in 1..K.
    Source: arXiv 1604.07086, Theorem 2.
    """
    _check_cascade(K, r, s)
    sent = sum(
        (Fraction(comb(r, s - d) * comb(K - r, d) * d, r + d - 1) for d in range(1, s + 1)), Fraction(0)
    )
    return sent / comb(K, s)


def cascaded_levels(K: int, r: int, s: int) -> tuple[Level, ...]:
    """Return what the cascaded shuffle sends, by group size l = max(r+1, s) .. min(r+s, K).

    Empty at r = K. The load is the sum of l groups messages block over r C(K, r) C(K, s).
    Raises UsageError unless r and s are whole numbers in 1..K.
    Source: arXiv 1604.07086, section on the cascaded scheme.
    """
    _check_cascade(K, r, s)
    return tuple(
        Level(
            size=size,
            groups=comb(K, size),
            held=comb(size - 1, r - 1),
            messages=comb(size - 2, r - 1),
            block=comb(r, size - s),
        )
        for size in range(max(r + 1, s), min(r + s, K) + 1)
    )


def resolvable(K: int, r: int) -> Resolvable:
    """Return the numbers of the resolvable design of K = k q servers, k = r: L = (1/(r-1))(1 - r/K).

    The q^(k-1) batches are the words of length k over 0..q-1 whose symbols add up to 0 modulo q; server
    (i, a) maps the words with symbol a at position i. Any k-1 symbols determine the last, so a word that is
    no batch names k servers, one a position, any k-1 of which share exactly one batch that the k-th lacks.
    In each of these q^(k-1) (q-1) groups the k missing blocks are cut into k-1 segments and every member
    multicasts one XOR, as symmetric CDC does with groups of k = r+1. That one stage delivers everything:
    server (i, a) lacks a word exactly when replacing its i-th symbol by a gives such a group, and gives one
    group only. It costs r/(r-1) times the load of `cdc_load`, and k q^(k-1) (q-1) packets where CDC has
    (r+1) C(K, r+1).

    Raises UsageError unless K is a multiple of r, 2 <= r <= K.
    Source: Konstantinidis and Ramamoorthy 2020, single parity check codes; the counts are derived above.
    """
    if not 2 <= r <= K or K % r:
        raise UsageError(f"no resolvable design has K={K} servers and r={r}: K must be a multiple of r >= 2")
    q = K // r
    groups = q ** (r - 1) * (q - 1)
    return Resolvable(
        k=r,
        q=q,
        batches=q ** (r - 1),
        groups=groups,
        packets=r * groups,
        load=Fraction(q - 1, q * (r - 1)),
    )


def _degree(K: int, r: int | Fraction) -> Fraction:
    """Return r as a Fraction, within 1..K."""
    degree = as_fraction(r, "the computation load r")
    if not 1 <= degree <= K:
        raise UsageError(f"the computation load r is {degree}: it must lie between 1 and K = {K}")
    return degree


def _check_cascade(K: int, r: int, s: int) -> None:
    """Raise UsageError unless r and s lie within 1..K."""
    if not (1 <= r <= K and 1 <= s <= K):
        raise UsageError(f"no cascaded scheme has K={K}, r={r}, s={s}: r and s must lie between 1 and K")
