"""Products over GF(2^T) with numpy: many elements side by side in 64-bit words.

Multiplying by x is a shift in every lane of a word and an XOR of the polynomial where a bit fell out. A row
of the product is evaluated by Horner's rule over the bits of its coefficients; the sums that it needs of the
input rows are read from tables of all 16 sums of four rows, so that four coefficients cost one XOR a bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from coded_mr.linear.codes.field import Array, Field

    Words = npt.NDArray[np.uint64]

__all__ = ["multiply"]

# 32 input rows of 16 KiB make tables of 2 MiB, which stay in a core's own cache.
_BLOCK_BYTES = 16 << 10
_BLOCK_ROWS = 32
_GROUP = 4


def multiply(over: Field, matrix: Array, rows: Array, out: Array) -> None:
    """Add the product of a matrix (r, k) with rows (k, w) to out (r, w); both arrays are C-contiguous."""
    import numpy as np

    width = rows.shape[1]
    step = _BLOCK_BYTES // over.dtype.itemsize
    each = np.dtype(np.uint64).itemsize // over.dtype.itemsize
    for start in range(0, width, step):
        stop = min(start + step, width)
        words = -(-(stop - start) // each)
        accumulated = np.zeros((matrix.shape[0], words), dtype=np.uint64)
        for first in range(0, matrix.shape[1], _BLOCK_ROWS):
            coefficients = matrix[:, first : first + _BLOCK_ROWS]
            block = np.zeros((coefficients.shape[1], words), dtype=np.uint64)
            block.view(over.dtype)[:, : stop - start] = rows[first : first + _BLOCK_ROWS, start:stop]
            _add_product(over, coefficients, _sums(block), accumulated)
        out[:, start:stop] ^= accumulated.view(over.dtype)[:, : stop - start]


def _sums(block: Words) -> list[list[Words]]:
    """Return, for each four rows, the XOR of every subset: entry b holds the rows whose bit is set in b."""
    import numpy as np

    tables: list[list[Words]] = []
    for start in range(0, block.shape[0], _GROUP):
        table = [np.zeros_like(block[0])]
        for row in block[start : start + _GROUP]:
            table += [row if at == 0 else row ^ before for at, before in enumerate(table)]
        tables.append(table)
    return tables


def _selectors(over: Field, matrix: Array) -> list[list[list[int]]]:
    """Return which sum of each four rows goes into each bit of each row of the product.

    The order is [row][bit, the highest first][group].
    """
    import numpy as np

    padding = -matrix.shape[1] % _GROUP
    padded = np.pad(matrix, ((0, 0), (0, padding))).reshape(matrix.shape[0], -1, _GROUP).astype(np.int64)
    shifts = np.arange(over.bits - 1, -1, -1)[None, :, None, None]
    bits = padded[:, None] >> shifts & 1
    chosen: list[list[list[int]]] = (bits << np.arange(_GROUP)).sum(axis=-1).tolist()
    return chosen


def _add_product(over: Field, matrix: Array, tables: list[list[Words]], out: Words) -> None:
    """Add the product of a matrix with the rows behind the tables."""
    import numpy as np

    product, spare = np.empty_like(out[0]), np.empty_like(out[0])
    for row, bits in enumerate(_selectors(over, matrix)):
        started = False
        for chosen in bits:
            if started:
                _times_x(over, product, spare)
            for table, entry in zip(tables, chosen, strict=True):
                if not entry:
                    continue
                if started:
                    np.bitwise_xor(product, table[entry], out=product)
                else:
                    product[:] = table[entry]
                    started = True
        if started:
            np.bitwise_xor(out[row], product, out=out[row])


def _times_x(over: Field, words: Words, spare: Words) -> None:
    """Multiply every lane by x, in place."""
    import numpy as np

    top = sum(1 << at for at in range(over.bits - 1, 64, over.bits))
    kept = np.uint64((1 << 64) - 1 - top)
    np.bitwise_and(words, np.uint64(top), out=spare)
    np.right_shift(spare, np.uint64(over.bits - 1), out=spare)
    np.multiply(spare, np.uint64(over.polynomial - over.order), out=spare)
    np.bitwise_and(words, kept, out=words)
    np.left_shift(words, np.uint64(1), out=words)
    np.bitwise_xor(words, spare, out=words)
