"""Which server keeps which coded rows, decided before anybody knows who will finish first.

Li, Maddah-Ali, Avestimehr 2016 (arXiv 1609.01690): the n = K m / q coded rows of an (n, m) MDS code are
dealt evenly to batches B_T, one for each set T of `a` servers; server k keeps B_T iff k is in T. Any q
servers then hold m different coded rows, enough to decode. Servers and rows count from 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import ceil, comb, gcd
from typing import NamedTuple

from coded_mr.errors import UsageError
from coded_mr.theory.counts import check_count
from coded_mr.theory.straggling import MemorySharing, Point

__all__ = ["CodedBatch", "Storage", "row_unit", "share_rows", "store"]


class CodedBatch(NamedTuple):
    """Name the servers T that keep the same coded rows, and these rows."""

    owners: tuple[int, ...]
    rows: range


@dataclass(frozen=True)
class Storage:
    """Say which of the `coded` rows each server keeps; `rows` is m, `coded` is n.

    The batches are in lexicographic order of their owners, and so are their rows.
    """

    point: Point
    rows: int
    coded: int
    batches: tuple[CodedBatch, ...]

    @cached_property
    def rows_of(self) -> tuple[tuple[int, ...], ...]:
        """Return, for each server, the coded rows that it keeps, ascending: mu_bar m of them."""
        kept: list[list[int]] = [[] for _ in range(self.point.setting.K)]
        for batch in self.batches:
            for server in batch.owners:
                kept[server].extend(batch.rows)
        return tuple(map(tuple, kept))


def row_unit(point: Point) -> int:
    """Return the least m whose coded rows can be dealt evenly; every other m must be a multiple of it.

    A matrix of any height is cut into m such blocks of rows (padded with rows of zeros), and the code
    works on blocks instead of single rows.
    """
    batches = point.q * comb(point.setting.K, point.a)
    return batches // gcd(batches, point.setting.K)


def store(point: Point, rows: int | None = None) -> Storage:
    """Return where the coded rows of a matrix of m rows (or blocks of rows) go; by default m = `row_unit`.

    Raises UsageError unless m is a positive multiple of `row_unit`.
    """
    unit = row_unit(point)
    m = unit if rows is None else rows
    check_count(m, "the number of rows m")
    if m % unit:
        raise UsageError(
            f"{m} rows cannot be dealt evenly to {point.setting.K} servers for q = {point.q}:"
            f" pad them to {-(-m // unit) * unit}, a multiple of {unit}"
        )
    K = point.setting.K
    coded = K * m // point.q
    each = coded // comb(K, point.a)
    batches = tuple(
        CodedBatch(owners, range(at * each, (at + 1) * each))
        for at, owners in enumerate(combinations(range(K), point.a))
    )
    return Storage(point, m, coded, batches)


def share_rows(mix: MemorySharing, rows: int) -> tuple[int, int]:
    """Return how many of a matrix's m rows are coded for mix.fast and for mix.slow.

    The first number is theta m, rounded up.

    Raises UsageError unless rows is a positive int.
    """
    check_count(rows, "the number of rows m")
    fast = min(rows, ceil(Fraction(rows) * mix.theta))
    return fast, rows - fast
