"""A systematic MDS code over GF(2^T): the rows themselves, then sums weighted by a Cauchy matrix.

Every square part of a Cauchy matrix 1 / (x_i + y_j) with different x and y can be inverted, so that any
k of the n <= 2^T coded rows give back the k rows; and its inverse has a closed form.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from coded_mr.errors import UsageError
from coded_mr.linear.codes.arrivals import arrivals, check_code, check_rows, coded_indices
from coded_mr.linear.codes.field import Field, field
from coded_mr.linear.codes.product import multiply

if TYPE_CHECKING:
    from coded_mr.linear.codes.field import Array

__all__ = ["FieldCode"]

_INVERSES = 64


class FieldCode:
    """Encode k rows as n coded rows over GF(2^T), any k of which are enough to decode.

    field   GF(2^8) or GF(2^16); n <= 2^T
    parity  the Cauchy matrix, (n - k, k): the generator is the identity on top of it
    """

    def __init__(self, n: int, k: int, bits: int = 8, *, kernel: str | None = None) -> None:
        """Make the code; raises UsageError unless 1 <= k <= n <= 2^bits. `kernel`: see `multiply`."""
        check_code(n, k)
        self.n, self.k = n, k
        self.field: Field = field(bits)
        if n > self.field.order:
            raise UsageError(
                f"an MDS code of n = {n} rows does not exist over GF(2^{bits}): n can be {self.field.order}"
                " at most; take T = 16, or code blocks of rows instead of rows"
            )
        self._kernel = kernel
        self._points = _points(self.field)
        self.parity = _cauchy(self.field, self._points[k:n], self._points[:k])
        self._inverse = lru_cache(maxsize=_INVERSES)(self._make_inverse)

    def __repr__(self) -> str:
        """Return the parameters."""
        return f"FieldCode(n={self.n}, k={self.k}, bits={self.field.bits})"

    @property
    def generator(self) -> Array:
        """Return the generator matrix, (n, k)."""
        import numpy as np

        return np.concatenate([np.eye(self.k, dtype=self.field.dtype), self.parity])

    def encode(self, rows: Any) -> Array:
        """Return all n coded rows (n, ...) of the rows (k, ...)."""
        return self.coded(rows, range(self.n))

    def coded(self, rows: Any, indices: Iterable[int]) -> Array:
        """Return the coded rows of these numbers, in their order; 0..k-1 are the rows themselves.

        Raises UsageError for rows of another height or with numbers that are no elements, and for numbers
        of coded rows that are repeated or outside 0..n-1.
        """
        import numpy as np

        plain = self.field.array(rows, "the rows to encode")
        check_rows(plain.shape, self.k, "the rows to encode")
        wanted = np.array(coded_indices(indices, self.n), dtype=np.intp)
        out = np.empty((len(wanted), *plain.shape[1:]), dtype=self.field.dtype)
        systematic = wanted < self.k
        out[systematic] = plain[wanted[systematic]]
        if not systematic.all():
            parity = self.parity[wanted[~systematic] - self.k]
            out[~systematic] = multiply(self.field, parity, plain, kernel=self._kernel)
        return out

    def decode(self, indices: Iterable[int], values: Any) -> Array:
        """Return the k rows (k, ...) from k or more coded rows, `values` (k or more, ...) named by `indices`.

        Only the rows that did not arrive as they are are computed, from the first parity rows by number; the
        inverses that this takes are kept for the next call. Raises UsageError for fewer than k rows, for
        numbers that are repeated or outside 0..n-1, and for values of another height.
        """
        import numpy as np

        given = tuple(indices)
        here = arrivals(given, self.n, self.k)
        plain = self.field.array(values, "the values to decode")
        check_rows(plain.shape, len(given), "the values to decode")
        rows = np.empty((self.k, *plain.shape[1:]), dtype=self.field.dtype)
        known, missing = np.array(here.known, dtype=np.intp), np.array(here.missing, dtype=np.intp)
        rows[known] = plain[list(here.known_at)]
        if len(missing):
            parity = np.array(here.parity[: len(missing)], dtype=np.intp)
            sums = plain[list(here.parity_at[: len(missing)])]
            if len(known):
                weights = self.parity[np.ix_(parity, known)]
                sums ^= multiply(self.field, weights, rows[known], kernel=self._kernel)
            rows[missing] = multiply(
                self.field,
                self._inverse(here.parity[: len(missing)], here.missing),
                sums,
                kernel=self._kernel,
            )
        return rows

    def _make_inverse(self, parity: tuple[int, ...], missing: tuple[int, ...]) -> Array:
        """Return the inverse of the part of the Cauchy matrix in these rows and columns."""
        import numpy as np

        xs = self._points[self.k + np.array(parity, dtype=np.intp)]
        return _cauchy_inverse(self.field, xs, self._points[np.array(missing, dtype=np.intp)])


def _points(over: Field) -> Array:
    """Return all elements of the field, each once."""
    import numpy as np

    return np.arange(over.order, dtype=np.uint32).astype(over.dtype)


def _cauchy(over: Field, xs: Array, ys: Array) -> Array:
    """Return the matrix 1 / (x_i + y_j)."""
    return over.inverse(xs[:, None] ^ ys[None, :])


def _cauchy_inverse(over: Field, xs: Array, ys: Array) -> Array:
    """Return the inverse of the square matrix 1 / (x_i + y_j).

    Its entry (j, i) is a_i b_j / (x_i + y_j) with a_i = prod_k (x_i + y_k) / prod_(k != i) (x_i + x_k), and
    b_j the same with x and y exchanged; in logarithms products are sums.
    """
    period = over.order - 1
    mixed = over.logarithms[xs[:, None] ^ ys[None, :]]
    # The logarithm table has 0 for the element 0, which leaves the factors k = i out of the sums.
    a = mixed.sum(axis=1) - over.logarithms[xs[:, None] ^ xs[None, :]].sum(axis=1)
    b = mixed.sum(axis=0) - over.logarithms[ys[:, None] ^ ys[None, :]].sum(axis=0)
    inverse: Array = over.exponentials[(a[None, :] + b[:, None] - mixed.T) % period]
    return inverse
