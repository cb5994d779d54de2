"""Matrix products over GF(2^T), bit for bit those of galois, by the fastest kernel at hand."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from coded_mr.errors import UsageError
from coded_mr.linear.codes import isal, lanes
from coded_mr.linear.codes.field import Field

if TYPE_CHECKING:
    from coded_mr.linear.codes.field import Array

__all__ = ["kernels", "multiply"]


def kernels(over: Field) -> tuple[str, ...]:
    """Return the kernels that can multiply over this field here, the fastest first.

    "isal"  Intel's ISA-L from the pyeclib wheel; "lanes"  numpy, always there. The order is that measured by
    `benchmarks.linear_codes`.
    """
    there = isal.library() is not None and (over.bits == 8 or isal.wide_loop() is not None)
    return ("isal", "lanes") if there else ("lanes",)


def multiply(over: Field, matrix: Any, rows: Any, *, kernel: str | None = None) -> Array:
    """Return the product of a matrix (r, k) with rows (k, ...) as an array (r, ...) of field elements.

    Big arrays are worked through in blocks of columns, so that no more is held than input and output.
    `kernel` names one of `kernels`; left out, the fastest is taken. The result is the same.
    Raises UsageError for shapes that do not fit, numbers that are no elements and unknown kernels.
    """
    import numpy as np

    left, right = over.array(matrix, "the matrix"), over.array(rows, "the array of rows")
    if left.ndim != 2 or right.ndim < 1 or left.shape[1] != right.shape[0]:
        raise UsageError(
            f"a matrix of shape {left.shape} cannot be multiplied with rows of shape {right.shape}:"
            " (r, k) and (k, ...) are needed"
        )
    choice = kernel or kernels(over)[0]
    if choice not in kernels(over):
        raise UsageError(f"there is no kernel {choice!r} here: choose from {', '.join(kernels(over))}")
    flat = right.reshape(right.shape[0], prod(right.shape[1:]))
    # The kernels work along rows: a product that is taller than wide is computed as its transpose.
    if flat.shape[1] < left.shape[0]:
        out = _product(over, flat.T, left.T, choice).T
    else:
        out = _product(over, left, flat, choice)
    return np.ascontiguousarray(out).reshape(left.shape[0], *right.shape[1:])


def _product(over: Field, matrix: Array, rows: Array, kernel: str) -> Array:
    """Return the product of two matrices by one kernel."""
    import numpy as np

    out = np.zeros((matrix.shape[0], rows.shape[1]), dtype=over.dtype)
    if out.size and rows.size:
        if kernel == "isal":
            isal.multiply(over, matrix, np.ascontiguousarray(rows), out)
        else:
            lanes.multiply(over, matrix, np.ascontiguousarray(rows), out)
    return out
