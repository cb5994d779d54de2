"""Products over GF(2^8) by Intel's ISA-L, which the wheel of pyeclib carries; optional."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coded_mr.linear.codes.field import Array

__all__ = ["library", "multiply"]

# The library's field has the polynomial x^8 + x^4 + x^3 + x^2 + 1, as galois' GF(2^8).
POLYNOMIAL = 0x11D

_BLOCK_BYTES = 64 << 10
_TABLE_BYTES = 32


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL | None:
    """Return the loaded library, or None where there is none that can be loaded."""
    spec = find_spec("pyeclib")
    if spec is None or spec.origin is None:
        return None
    beside = Path(spec.origin).parent.parent / "pyeclib.libs"
    for path in sorted(beside.glob("libisal*")):
        try:
            loaded = ctypes.CDLL(str(path))
            loaded.ec_init_tables.restype = None
            loaded.ec_encode_data.restype = None
        except (OSError, AttributeError):
            continue  # another machine's library, or another library: there is always the numpy kernel
        return loaded
    return None


def multiply(matrix: Array, rows: Array, out: Array) -> None:
    """Write the product of a matrix (r, k) with rows (k, w) to out (r, w), all uint8 and C-contiguous.

    The library must be there.
    """
    import numpy as np

    found = library()
    if found is None:
        raise RuntimeError("ISA-L is not there: ask library() first")
    r, k = matrix.shape
    width = rows.shape[1]
    coefficients = np.ascontiguousarray(matrix)
    tables = ctypes.create_string_buffer(_TABLE_BYTES * k * r)
    found.ec_init_tables(k, r, ctypes.c_void_p(coefficients.ctypes.data), tables)
    for start in range(0, width, _BLOCK_BYTES):
        sources = (ctypes.c_void_p * k)(*(rows.ctypes.data + at * width + start for at in range(k)))
        targets = (ctypes.c_void_p * r)(*(out.ctypes.data + at * width + start for at in range(r)))
        found.ec_encode_data(min(_BLOCK_BYTES, width - start), k, r, tables, sources, targets)
