"""Ranks that are all alike, with far fewer batches and packets for many of them: resolvable designs.

K = k q ranks in k classes of q; rank i q + a, called (i, a), is number a of class i. A batch is a word of k
symbols 0..q-1 that add up to 0 modulo q, and is mapped by the k ranks (i, its symbol i): each class maps
every batch once.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import prod

from coded_mr.errors import PlanError
from coded_mr.plan.model import Batch, Plan
from coded_mr.plan.schemes.dealing import deal_to_all
from coded_mr.plan.schemes.exchange import Exchange, exchange

__all__ = ["resolvable", "resolvable_load"]


def resolvable(partitions: int, q: int, k: int) -> Plan:
    """Plan the resolvable design of K = k q ranks that all reduce: every file on r = k of them.

    Any k-1 symbols determine a batch's last. A word that is no batch names k ranks, one of each class, any
    k-1 of which share exactly one batch, which the k-th lacks; in each of these groups the members exchange
    what they lack in segments of 1/(k-1), one XOR from each. One such stage is all: rank (i, a) lacks the
    batch x when symbol i of x is not a, and x with a in its place is the one group in which it gets it.

    The load is (1/(k-1))(1 - 1/q) when K divides the partitions, else `resolvable_load`. There are q^(k-1)
    batches and k (q-1) q^(k-1) packets, where the symmetric scheme at r = k has C(K, k) and (k+1) C(K, k+1).

    Raises PlanError unless q >= 1, k >= 2 and K <= partitions.
    Source: Konstantinidis and Ramamoorthy 2020, single parity check codes; the exchange is derived above.
    """
    reduces = _reduces(partitions, q, k)
    share = Fraction(1, q ** (k - 1))
    return Plan(
        scheme="resolvable",
        partitions=partitions,
        reduces=reduces,
        batches=tuple(Batch(_named(word, q), share) for word in _batches(q, k)),
        packets=tuple(exchange(_rounds(q, k), k, reduces)),
    )


def resolvable_load(partitions: int, q: int, k: int) -> Fraction:
    """Return the exact load L of that plan, padding included.

    With c = Q div K, and b_j of the bundles of class j one longer: a packet from class i is (c+1)/(k-1) long
    unless all its k-1 receivers, any of one symbol for each class but i, have short bundles. So
    Q (k-1) q^(k-1) L = (q-1) sum over i of [(c+1) q^(k-1) - product over j != i of (q - b_j)].

    Raises PlanError as `resolvable` does.
    """
    reduces = _reduces(partitions, q, k)
    least, longer = divmod(partitions, k * q)
    words = q ** (k - 1)
    if not longer:
        return Fraction(q - 1, q * (k - 1))
    short = [sum(len(owned) == least for owned in reduces[i * q : (i + 1) * q]) for i in range(k)]
    sent = sum((least + 1) * words - prod(short[:i] + short[i + 1 :]) for i in range(k))
    return Fraction((q - 1) * sent, partitions * (k - 1) * words)


def _reduces(partitions: int, q: int, k: int) -> tuple[tuple[int, ...], ...]:
    """Deal the partitions so that the longer bundles are spread over the classes: least padding."""
    if q < 1 or k < 2:
        raise PlanError(f"no resolvable design has k={k} classes of q={q} ranks: k >= 2 and q >= 1")
    dealt = deal_to_all(partitions, k * q, "resolvable")
    return tuple(dealt[a * k + i] for i in range(k) for a in range(q))


def _batches(q: int, k: int) -> Iterator[tuple[int, ...]]:
    """Yield the words that add up to 0 modulo q, ascending: the number of each is its first k-1 symbols."""
    for symbols in product(range(q), repeat=k - 1):
        yield (*symbols, -sum(symbols) % q)


def _named(word: tuple[int, ...], q: int) -> tuple[int, ...]:
    return tuple(i * q + symbol for i, symbol in enumerate(word))


def _rounds(q: int, k: int) -> Iterator[list[Exchange]]:
    """Yield every word that is no batch as a group, in rounds of disjoint ones.

    The words of a round differ in every symbol: t is added to the even symbols and taken from the odd ones.
    For even k the sum stays, so that a round has q groups, which are all ranks, or none; for odd k q-1.
    """
    for symbols in product(range(q), repeat=k - 1):
        words = [
            tuple((symbol - t if i % 2 else symbol + t) % q for i, symbol in enumerate((0, *symbols)))
            for t in range(q)
        ]
        if groups := [Exchange(_named(word, q), _missing(word, q)) for word in words if sum(word) % q]:
            yield groups


def _missing(word: tuple[int, ...], q: int) -> tuple[int, ...]:
    """Return the numbers of the batches that differ from the word in the first symbol, the second, ..."""
    excess = sum(word) % q
    number = 0
    for symbol in word[:-1]:
        number = number * q + symbol
    weight = q ** (len(word) - 1)
    missing = []
    for symbol in word[:-1]:
        weight //= q
        missing.append(number + ((symbol - excess) % q - symbol) * weight)
    return (*missing, number)
