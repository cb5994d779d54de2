"""Which of n coded rows have arrived, sorted out for a systematic code."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from coded_mr.errors import UsageError
from coded_mr.theory.counts import check_count

__all__ = ["Arrivals", "arrivals", "check_code", "check_rows", "coded_indices"]


@dataclass(frozen=True)
class Arrivals:
    """Sort coded rows, named in the order of arrival, into what a systematic (n, k) code needs.

    known    rows of the matrix that arrived as they are, ascending; known_at  where in the order
    parity   the other coded rows, counted from k, ascending; parity_at  where in the order
    """

    k: int
    known: tuple[int, ...]
    known_at: tuple[int, ...]
    parity: tuple[int, ...]
    parity_at: tuple[int, ...]

    @cached_property
    def missing(self) -> tuple[int, ...]:
        """Return the rows of the matrix that must be computed, ascending."""
        known = set(self.known)
        return tuple(row for row in range(self.k) if row not in known)


def check_code(n: int, k: int) -> None:
    """Raise UsageError unless 1 <= k <= n."""
    check_count(k, "the number of rows k")
    check_count(n, "the number of coded rows n")
    if n < k:
        raise UsageError(f"n = {n} coded rows cannot stand for k = {k} rows: n must be k or more")


def check_rows(shape: tuple[int, ...], expected: int, what: str) -> None:
    """Raise UsageError unless an array has as many rows as expected."""
    if not shape or shape[0] != expected:
        raise UsageError(f"{what} have the shape {shape}: {expected} rows are needed")


def coded_indices(indices: Iterable[int], n: int) -> tuple[int, ...]:
    """Return the numbers of coded rows as ints; raises UsageError unless all are in 0..n-1 and different."""
    given = tuple(operator.index(index) for index in indices)
    if len(set(given)) != len(given) or any(not 0 <= index < n for index in given):
        raise UsageError(f"coded rows must be different numbers in 0..{n - 1}, not {list(given)}")
    return given


def arrivals(indices: Iterable[int], n: int, k: int) -> Arrivals:
    """Return the arrivals of these coded rows; raises UsageError when they are fewer than k."""
    given = coded_indices(indices, n)
    if len(given) < k:
        raise UsageError(f"{len(given)} coded rows have arrived: {k} are needed to decode")
    order = sorted(range(len(given)), key=given.__getitem__)
    known_at = tuple(at for at in order if given[at] < k)
    parity_at = tuple(at for at in order if given[at] >= k)
    return Arrivals(
        k=k,
        known=tuple(given[at] for at in known_at),
        known_at=known_at,
        parity=tuple(given[at] - k for at in parity_at),
        parity_at=parity_at,
    )
