"""What no shuffle can beat: the lower bound on the communication load of a placement.

Lemma 1 of Yu, Li, Maddah-Ali, Avestimehr, "How to Optimally Allocate Resources for Coded Distributed
Computing?", 2017 (arXiv 1702.07297), (24): it holds for every code and every number of rounds, and asks
only who knows what and who wants it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction

from coded_mr.errors import PlanError, UsageError
from coded_mr.theory.checks import as_fraction

__all__ = ["lemma1", "placement_bound", "placement_counts"]


def lemma1(counts: Mapping[tuple[int, int], int | Fraction], values: int | Fraction) -> Fraction:
    """Return the least communication load L, in units of QNT bits, that a placement allows.

    counts  a_{s,d}, by (s, d): intermediate values that exactly s servers know and exactly d servers both
            want and lack; s >= 1, d >= 0.
    values  QN, all intermediate values, in the unit of the counts.

    L >= (1 / QN) sum of a_{s,d} d / (s + d - 1). Raises UsageError for numbers out of range.
    Source: arXiv 1702.07297, Lemma 1 (24).
    """
    total = as_fraction(values, "the number of intermediate values QN")
    if total <= 0:
        raise UsageError(f"the number of intermediate values QN is {total}: there must be some")
    needed = Fraction(0)
    for (known, lacking), count in counts.items():
        if known < 1 or lacking < 0 or count < 0:
            raise UsageError(
                f"a count of {count} values known to {known} servers and lacked by {lacking} cannot be:"
                " each is known to 1 or more"
            )
        if lacking:
            needed += as_fraction(count, "a count of values") * Fraction(lacking, known + lacking - 1)
    return needed / total


def placement_counts(
    batches: Iterable[tuple[Collection[int], Fraction]], reducers: Sequence[Collection[int]]
) -> dict[tuple[int, int], Fraction]:
    """Return a_{s,d} of a placement by (s, d), in units of one function of the whole input.

    batches   for each set of files: the servers that map it, and its size (a share, or files).
    reducers  for each of the Q functions: the servers that reduce it; one in the ordinary case.

    Takes time in proportion to the mappers of all batches, times the different reducer sets a server is in.
    Raises PlanError for a batch that nobody maps.
    """
    groups = Counter(map(frozenset, reducers))
    sizes: Counter[int] = Counter()
    joined: dict[int, list[frozenset[int]]] = {}
    for group, functions in groups.items():
        sizes[len(group)] += functions
        for server in group:
            joined.setdefault(server, []).append(group)
    tally: Counter[tuple[int, int, Fraction]] = Counter()
    for index, (mappers, share) in enumerate(batches):
        if not mappers:
            raise PlanError(f"batch {index} is mapped by nobody: no shuffle can deliver it")
        servers = set(mappers)
        known = len(servers)
        overlap = Counter(group for server in servers for group in joined.get(server, ()))
        lacking = Counter(sizes)
        for group, common in overlap.items():
            lacking[len(group)] -= groups[group]
            lacking[len(group) - common] += groups[group]
        for d, functions in lacking.items():
            tally[known, d, share] += functions
    counts: dict[tuple[int, int], Fraction] = {}
    for (known, d, share), functions in tally.items():
        if functions:
            counts[known, d] = counts.get((known, d), Fraction(0)) + functions * share
    return counts


def placement_bound(
    batches: Iterable[tuple[Collection[int], Fraction]], reducers: Sequence[Collection[int]]
) -> Fraction:
    """Return the bound of Lemma 1 for a placement as `placement_counts` takes it, in units of QNT bits.

    Raises PlanError for a batch that nobody maps, UsageError when there are no batches or no functions.
    Source: arXiv 1702.07297, Lemma 1 (24).
    """
    counts = placement_counts(batches, reducers)
    return lemma1(counts, sum(counts.values(), Fraction(0)))
