"""Read keys and checksums out of arrays of 100-byte records.

Keys are compared as a big-endian 64-bit part and a 16-bit part: that is the order of unsigned bytes,
and NUL bytes count, which numpy's fixed-width strings drop at the end.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coded_mr.errors import InputError
from coded_mr.terasort import KEY_BYTES, RECORD_BYTES

__all__ = ["Records", "crc_sum", "descends", "high_parts", "key_bytes", "low_parts", "read_blocks", "repeats"]

Records = NDArray[np.uint8]
"""An array of shape (n, 100), one record a row."""

_GROUP = struct.Struct(f"{RECORD_BYTES}s" * 1000)
_BLOCK_RECORDS = 20_000


def high_parts(records: Records) -> NDArray[np.uint64]:
    """Return the first 8 key bytes as numbers, shape (n,), of records (n, 100) or of bare keys (n, 10)."""
    return records[:, :8].view(">u8")[:, 0].astype(np.uint64)


def low_parts(records: Records) -> NDArray[np.uint16]:
    """Return the last 2 key bytes as numbers, shape (n,), of records (n, 100) or of bare keys (n, 10)."""
    return records[:, 8:KEY_BYTES].view(">u2")[:, 0].astype(np.uint16)


def descends(high: NDArray[np.uint64], low: NDArray[np.uint16]) -> NDArray[np.bool_]:
    """Say of each key but the first, given in two parts, whether it is below the one before it."""
    below: NDArray[np.bool_] = (high[1:] < high[:-1]) | ((high[1:] == high[:-1]) & (low[1:] < low[:-1]))
    return below


def repeats(high: NDArray[np.uint64], low: NDArray[np.uint16]) -> NDArray[np.bool_]:
    """Say of each key but the first, given in two parts, whether it equals the one before it."""
    equal: NDArray[np.bool_] = (high[1:] == high[:-1]) & (low[1:] == low[:-1])
    return equal


def key_bytes(high: int, low: int) -> bytes:
    """Return the 10-byte key of which `high` and `low` are the two parts."""
    return int(high).to_bytes(8, "big") + int(low).to_bytes(KEY_BYTES - 8, "big")


def crc_sum(data: bytes | memoryview) -> int:
    """Return the sum over records of zlib.crc32(record), gensort's checksum; `data` holds whole records."""
    view = memoryview(data)
    if not view.nbytes:
        return 0
    view = view.cast("B")
    whole = len(view) - len(view) % _GROUP.size
    total = sum(sum(map(zlib.crc32, group)) for group in _GROUP.iter_unpack(view[:whole]))
    rest = struct.iter_unpack(f"{RECORD_BYTES}s", view[whole:])
    return total + sum(zlib.crc32(record) for (record,) in rest)


def read_blocks(path: Path) -> Iterator[Records]:
    """Yield the whole records of a file in blocks of at most 2 MB, then nothing for a cut last record.

    Every block is the same buffer, overwritten by the next one.

    Raises:
        InputError: the file cannot be read.
    """
    buffer = bytearray(_BLOCK_RECORDS * RECORD_BYTES)
    try:
        with path.open("rb") as file:
            while rows := file.readinto(buffer) // RECORD_BYTES:
                yield np.frombuffer(buffer, np.uint8, rows * RECORD_BYTES).reshape(rows, RECORD_BYTES)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; check path and permissions") from error
