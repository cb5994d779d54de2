"""The arithmetic of y = A x from coded rows, without MPI: coding A, and decoding from whoever answered.

Rows are coded in pieces of `height` consecutive rows, so that tall matrices need no large code: "k rows" of
an allocation are k pieces, the last one filled up with zeros.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from coded_mr.errors import UsageError
from coded_mr.linear.allocation_rules import Allocation, Rule
from coded_mr.linear.codes import RealCode
from coded_mr.theory.counts import check_count

__all__ = ["Coding", "Collected", "Collector", "default_height", "multiply"]

Reals = npt.NDArray[np.floating[Any]]

_PIECES = 256
_BLOCK_ENTRIES = 1 << 20  # multiplied at once; a worker looks up between blocks whether it is still wanted


@dataclass(frozen=True)
class Collected:
    """Hold a decoded product.

    y          A x
    finishers  workers, from 0, whose rows were there when the k-th came, in the order of arrival
    missing    pieces that had to be computed from others
    bound      no entry is expected to be off by more: eps gain (6 sqrt(k) + 2 sqrt(q)) sum_j |A_j| |x_j|,
               with q columns A_j of length |A_j| (the largest of these sums over the columns of x), eps of
               the less accurate type of A and x, and the gain of `RealCode.decode`
    """

    y: Reals
    finishers: tuple[int, ...]
    missing: int
    bound: float


class Coding:
    """Code one matrix by an allocation."""

    def __init__(
        self, A: Reals, workers: int, rule: Rule, *, height: int | None = None, seed: int = 0
    ) -> None:
        """Choose the code; A is (p, q), as `real_matrix` returns it.

        Raises UsageError unless height is None or a whole number, 1 or more, and as the rule does.
        """
        self.shape: tuple[int, int] = (A.shape[0], A.shape[1])
        self.height = default_height(A.shape[0]) if height is None else height
        check_count(self.height, "the height of a piece")
        self.allocation: Allocation = rule(workers, -(-A.shape[0] // self.height))
        held = len(set().union(*self.allocation.rows))
        if held < self.allocation.k:
            raise UsageError(
                f"the rule {self.allocation.name} gives the workers {held} different rows of"
                f" {self.allocation.k}: they could never finish"
            )
        self.code = RealCode(self.allocation.n, self.allocation.k, seed=seed)
        self._lengths = np.linalg.norm(A.astype(np.float64), axis=0)
        self._eps = float(np.finfo(A.dtype).eps)
        k, (p, q) = self.allocation.k, self.shape
        padded = np.zeros((k * self.height, q), dtype=A.dtype)
        padded[:p] = A
        self._pieces = padded.reshape(k, self.height, q)

    def rows_of(self, worker: int) -> Reals:
        """Return what a worker, from 0, holds: coded pieces one below the other, (load height, q)."""
        coded = self.code.coded(self._pieces, self.allocation.rows[worker])
        return coded.reshape(-1, self.shape[1])

    def release(self) -> None:
        """Forget the matrix, when all workers have their rows."""
        self._pieces = self._pieces[:0].copy()

    def collector(self, x: Reals) -> Collector:
        """Return what gathers the products with x, (q,) or (q, m)."""
        sums = self._lengths @ np.abs(x.astype(np.float64))
        through = 6 * self.allocation.k**0.5 + 2 * self.shape[1] ** 0.5
        return Collector(self, x.shape[1:], self._eps * through * float(np.max(sums)))


class Collector:
    """Gather the products of workers until k different pieces are there."""

    def __init__(self, coding: Coding, tail: tuple[int, ...], scale: float) -> None:
        """Wait for products of shape (load height, *tail); errors grow from `scale` by the code's gain."""
        self._coding, self._tail, self._scale = coding, tail, scale
        self._values: dict[int, Reals] = {}
        self._finishers: list[int] = []

    def add(self, worker: int, products: Reals) -> bool:
        """Take what a worker, from 0, computed; return whether that is enough. Later ones are ignored."""
        if not self.enough:
            rows = self._coding.allocation.rows[worker]
            pieces = products.reshape(len(rows), self._coding.height, *self._tail)
            self._values.update((row, piece) for row, piece in zip(rows, pieces, strict=True))
            self._finishers.append(worker)
        return self.enough

    @property
    def enough(self) -> bool:
        """Return whether k different pieces are there."""
        return len(self._values) >= self._coding.allocation.k

    def within_reach(self, workers: Iterable[int]) -> int:
        """Return how many different pieces there are when these workers, from 0, have answered, too."""
        rows = self._coding.allocation.rows
        return len(set(self._values).union(*(rows[worker] for worker in workers)))

    def result(self) -> Collected:
        """Return the product, from plain pieces first; raises UsageError without enough pieces."""
        chosen = sorted(self._values)[: self._coding.allocation.k]
        values = [self._values[row] for row in chosen]
        found = self._coding.code.decode(chosen, np.stack(values) if values else np.empty(0))
        whole = found.rows.reshape(-1, *self._tail)
        return Collected(
            y=whole[: self._coding.shape[0]],
            finishers=tuple(self._finishers),
            missing=found.missing,
            bound=self._scale * found.gain,
        )


def default_height(rows: int) -> int:
    """Return the rows of a piece such that at most 256 pieces make up the matrix."""
    return -(-rows // _PIECES)


def multiply(stored: Reals, x: Reals, ranges: Sequence[range], unwanted: Any = None) -> Reals | None:
    """Return the rows in these ranges times x, one below the other; None as soon as unwanted() is true."""
    out = np.empty((sum(map(len, ranges)), *x.shape[1:]), dtype=np.result_type(stored, x))
    step = max(1, _BLOCK_ENTRIES // (stored.shape[1] * max(1, x[0].size)))
    at = 0
    for rows in ranges:
        for start in range(rows.start, rows.stop, step):
            if unwanted is not None and unwanted():
                return None
            stop = min(start + step, rows.stop)
            out[at : at + stop - start] = stored[start:stop] @ x
            at += stop - start
    return out
