"""What every product over the reals asks of its arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coded_mr.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Reals = npt.NDArray[np.floating[Any]]

__all__ = ["check_matrix", "check_operand", "check_real", "real_matrix", "real_operand"]

_LARGEST_WHOLE = 2**53


def check_matrix(found: npt.NDArray[Any], name: str) -> None:
    """Raise UsageError, naming the argument, unless an array has two axes and no empty one."""
    if found.ndim != 2 or not found.size:
        raise UsageError(f"{name} has the shape {found.shape}: a matrix with rows and columns is needed")


def check_operand(found: npt.NDArray[Any], name: str, rows: int) -> None:
    """Raise UsageError, naming the argument, for a shape other than (rows,) or (rows, m), m >= 1."""
    if found.ndim not in (1, 2) or found.shape[0] != rows or not found.size:
        raise UsageError(
            f"{name} has the shape {found.shape}: ({rows},) or ({rows}, m) is needed, as many rows as the"
            " matrix has columns"
        )


def check_real(dtype: np.dtype[Any], name: str) -> None:
    """Raise UsageError, naming the argument, unless its type is float32, float64 or one of whole numbers."""
    if dtype.kind not in "iub" and str(dtype.newbyteorder("=")) not in ("float32", "float64"):
        raise UsageError(
            f"{name} has the type {dtype}: float32, float64 or whole numbers of at most 2^53 are needed"
        )


def real_matrix(value: object, name: str) -> Reals:
    """Return a matrix as float32 or float64; whole numbers become float64.

    Raises UsageError, naming the argument, unless it is a matrix, real and finite.
    """
    found = _reals(value, name)
    check_matrix(found, name)
    return found


def real_operand(value: object, name: str, rows: int) -> Reals:
    """Return what a matrix with so many columns multiplies: a vector (rows,) or a matrix (rows, m), m >= 1.

    Raises UsageError, naming the argument, for other shapes and as `real_matrix` does.
    """
    found = _reals(value, name)
    check_operand(found, name, rows)
    return found


def _reals(value: object, name: str) -> Reals:
    import numpy as np

    try:
        found = np.asarray(value)
    except ValueError as error:
        raise UsageError(f"{name} is not an array of numbers: {error}") from None
    check_real(found.dtype, name)
    if found.dtype.kind in "iub":
        if found.size and int(np.abs(found.astype(object)).max()) > _LARGEST_WHOLE:
            raise UsageError(f"{name} holds whole numbers above 2^53, which float64 cannot represent")
        found = found.astype(np.float64)
    if not np.isfinite(found).all():
        raise UsageError(f"{name} holds NaN or infinity, which would spoil every coded row")
    return np.ascontiguousarray(found, dtype=found.dtype.newbyteorder("="))
