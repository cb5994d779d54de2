"""The order in which groups are used: rounds of pairwise disjoint subsets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["bundles", "disjoint_rounds"]

# A subset is tried against this many open rounds: beyond it, looking costs more than a fuller round saves.
_OPEN_ROUNDS = 1024


def disjoint_rounds(subsets: Iterable[Sequence[int]], ranks: int) -> list[list[tuple[int, ...]]]:
    """Pack subsets into rounds whose members are pairwise disjoint, first fit in the order given.

    The groups of a round can be set up and used side by side, and every rank meets at most one of them,
    so that the ranks' next free context ids stay together while communicators are made in this order.
    """
    rounds: list[list[tuple[int, ...]]] = []
    open_rounds: dict[int, int] = {}  # index of a round that can take more -> bit mask of its members
    for subset in map(tuple, subsets):
        mask = sum(1 << member for member in subset)
        tried = zip(open_rounds.items(), range(_OPEN_ROUNDS), strict=False)
        index = next((at for (at, used), _ in tried if not used & mask), None)
        if index is None:
            index = len(rounds)
            rounds.append([])
        rounds[index].append(subset)
        members = open_rounds.get(index, 0) | mask
        if ranks - members.bit_count() >= len(subset):
            open_rounds[index] = members
        else:
            open_rounds.pop(index, None)
    return rounds


def bundles(partitions: int, solvers: int) -> list[tuple[int, ...]]:
    """Deal partitions to solvers in runs of nearly equal length, the longer runs first."""
    least, longer = divmod(partitions, solvers)
    starts = [k * least + min(k, longer) for k in range(solvers + 1)]
    return [tuple(range(starts[k], starts[k + 1])) for k in range(solvers)]
