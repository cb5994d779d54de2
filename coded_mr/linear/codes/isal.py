"""Products over GF(2^8) and GF(2^16) by Intel's ISA-L, which the wheel of pyeclib carries; optional.

The library knows GF(2^8) only. Its inner loops, however, apply any map of bytes that is linear over GF(2),
which they look up in two tables of 16 bytes, one for each half of the byte. Multiplying by an element of
GF(2^16) is four such maps, between the low and high bytes of the elements.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coded_mr.linear.codes.field import Array, Field

__all__ = ["library", "multiply", "wide_loop"]

# The library's field has the polynomial x^8 + x^4 + x^3 + x^2 + 1, as galois' GF(2^8).
POLYNOMIAL = 0x11D

_BLOCK_BYTES = 64 << 10
_TABLE_BYTES = 32
# The loops that take such tables, the fastest first, and what the processor must have for them.
_LOOPS = (("ec_encode_data_avx2", "avx2"), ("ec_encode_data_sse", "ssse3"))
# They leave shorter rows to another routine, which knows GF(2^8) only.
_ALIGNED = 64


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


@lru_cache(maxsize=1)
def wide_loop() -> Callable[..., None] | None:
    """Return the library's fastest loop over tables that this processor can run, or None."""
    found = library()
    try:
        flags = Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return None
    for name, feature in _LOOPS:
        if feature in flags and hasattr(found, name):
            loop = getattr(found, name)
            loop.restype = None
            return loop  # type: ignore[no-any-return]
    return None


def multiply(over: Field, matrix: Array, rows: Array, out: Array) -> None:
    """Write the product of a matrix (r, k) with rows (k, w) to out (r, w), all C-contiguous.

    `library`, and for GF(2^16) `wide_loop`, must be there.
    """
    if over.bits == 8:
        _multiply_bytes(matrix, rows, out)
    else:
        _multiply_wide(over, matrix, rows, out)


def _multiply_wide(over: Field, matrix: Array, rows: Array, out: Array) -> None:
    """Multiply 16-bit elements as planes of their low and of their high bytes."""
    import numpy as np

    loop = wide_loop()
    if loop is None:
        raise RuntimeError("ISA-L has no loop for tables here: ask wide_loop() first")
    (r, k), width = matrix.shape, rows.shape[1]
    tables = _tables(over, matrix)
    step = -(-min(_BLOCK_BYTES // 2, width) // _ALIGNED) * _ALIGNED
    low_high = np.zeros((k, 2, step), dtype=np.uint8)
    results = np.empty((r, 2, step), dtype=np.uint8)
    sources = (ctypes.c_void_p * (2 * k))(*(low_high.ctypes.data + at * step for at in range(2 * k)))
    targets = (ctypes.c_void_p * (2 * r))(*(results.ctypes.data + at * step for at in range(2 * r)))
    for start in range(0, width, step):
        stop = min(start + step, width)
        block = rows[:, start:stop]
        low_high[:, 0, : stop - start] = block & 0xFF
        low_high[:, 1, : stop - start] = block >> 8
        loop(step, 2 * k, 2 * r, ctypes.c_void_p(tables.ctypes.data), sources, targets)
        out[:, start:stop] = results[:, 1, : stop - start]
        out[:, start:stop] <<= 8
        out[:, start:stop] |= results[:, 0, : stop - start]


def _tables(over: Field, matrix: Array) -> Array:
    """Return the tables of each coefficient: (r, byte of the result, k, byte of the operand, half, 16)."""
    import numpy as np

    r, k = matrix.shape
    products = np.zeros((r, k, 4, 16), dtype=np.uint16)
    power = matrix.astype(np.int64)
    for bit in range(16):
        halves, place = divmod(bit, 4)
        with_bit = [value for value in range(16) if value >> place & 1]
        products[:, :, halves, with_bit] ^= power[:, :, None].astype(np.uint16)
        power = power << 1 ^ over.polynomial * (power >> 15)
    split = np.stack([products & 0xFF, products >> 8], axis=1).astype(np.uint8)
    tables: Array = np.ascontiguousarray(split.reshape(r, 2, k, 2, 2, 16))
    return tables


def _multiply_bytes(matrix: Array, rows: Array, out: Array) -> None:
    """Multiply elements of the library's own field."""
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
