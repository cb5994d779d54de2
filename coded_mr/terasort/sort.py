"""Sort records by their 10-byte keys, stably.

One sort of 64-bit integers, each a prefix of a key in front of the record's index, puts nearly all
records in place; only records of equal prefix and wrong order need their whole keys.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coded_mr.terasort import KEY_BYTES, RECORD_BYTES
from coded_mr.terasort.records import Records, descends, high_parts, low_parts

__all__ = ["sort_records", "sorted_order"]


def sorted_order(records: Records) -> NDArray[np.int64]:
    """Return the indices, shape (n,), that put records (n, 100) in order; equal keys keep theirs.

    n is at most 2^32. Keys that differ only behind the packed prefix cost a slower sort of those alone.
    """
    count = len(records)
    if count < 2:
        return np.arange(count, dtype=np.int64)
    packed, index_mask = _packed(high_parts(records))
    packed.sort()
    tied = np.flatnonzero((packed[1:] ^ packed[:-1]) <= index_mask)
    packed &= index_mask
    order = packed.view(np.int64)
    if len(tied):
        _order_ties(records, order, tied)
    return order


def sort_records(records: Records, out: Records | None = None) -> Records:
    """Return the records (n, 100) in order, in `out` (C-contiguous, same shape) or in a new array."""
    rows = np.ascontiguousarray(records)
    if out is None:
        out = np.empty_like(rows)
    whole = np.dtype((np.void, RECORD_BYTES))
    # mode="clip": the default would gather into a buffer and copy that to `out`.
    np.take(rows.view(whole)[:, 0], sorted_order(rows), out=out.view(whole)[:, 0], mode="clip")
    return out


def _packed(high: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], np.uint64]:
    """Put each index behind as many leading bits of its key as fit; return the mask of the index too.

    Bits that all keys share are left out: keys of text, or of one partition, leave room for more.
    """
    smallest = high.min()
    index_bits = (len(high) - 1).bit_length()
    dropped = max(0, int(high.max() - smallest).bit_length() - (64 - index_bits))
    high -= smallest
    high >>= np.uint64(dropped)
    high <<= np.uint64(index_bits)
    high |= np.arange(len(high), dtype=np.uint64)
    return high, np.uint64((1 << index_bits) - 1)


def _order_ties(records: Records, order: NDArray[np.int64], tied: NDArray[np.int64]) -> None:
    """Sort the runs of equal prefix in `order` in place; `tied` holds each i whose prefix i+1 shares."""
    in_run = np.zeros(len(order), np.bool_)
    in_run[tied] = True
    in_run[tied + 1] = True
    members = order[in_run]
    keys = records[members, :KEY_BYTES]
    high, low = high_parts(keys), low_parts(keys)
    if descends(high, low).any():
        order[in_run] = members[np.lexsort((low, high))]
