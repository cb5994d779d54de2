"""Groups in which every member lacks what all the others know, and all of them send in turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

from coded_mr.plan.model import Packet, Term

__all__ = ["Exchange", "exchange", "turns"]

T = TypeVar("T")


class Exchange(NamedTuple):
    """Name a group S, ascending, and for each member the batch that it alone of the group does not map."""

    members: tuple[int, ...]
    missing: tuple[int, ...]


def exchange(
    rounds: Iterable[Sequence[Exchange]], size: int, reduces: Sequence[tuple[int, ...]]
) -> Iterator[Packet]:
    """Yield the packets that give every member of every group its missing batch.

    All groups have the same size, r+1. What member k lacks is cut into r segments, one for each other
    member in ascending order; every member sends the XOR of its segments, one of each other member's value,
    to all the others, who know all of them but their own. The order is that of `turns`.
    Source: Li et al. 2018 (arXiv 1604.07086), the coded shuffle.
    """
    for (members, missing), i in turns(rounds, size):
        terms = [Term(reduces[k], missing[j], i - (j < i), size - 1) for j, k in enumerate(members) if j != i]
        yield Packet(members[i], members[:i] + members[i + 1 :], tuple(terms))


def turns(rounds: Iterable[Sequence[T]], size: int) -> Iterator[tuple[T, int]]:
    """Yield (group, position of the sender) so that every member of every group sends once.

    `rounds` holds rounds of disjoint groups of one size. They are taken in blocks of as many rounds as a
    group has members; in step t of a block, the sender in round b is member (b + t) mod size. So the ranks
    take turns at sending and receiving within a step, and a group is used again only a step later.
    """
    remaining = iter(rounds)
    while block := list(islice(remaining, size)):
        for step in range(size):
            for b, together in enumerate(block):
                for group in together:
                    yield group, (b + step) % size
