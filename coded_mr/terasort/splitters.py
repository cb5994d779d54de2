"""Cut the range of keys into partitions of equal size, whatever the keys.

A splitter is an order statistic of a sample: partition i holds the sample's records from i n/Q to
(i+1) n/Q. Where a frequent key reaches across such bounds, the records that carry it are shared out over
the partitions it touches, in the sample's proportions. Any partition among them is right, since the
partitions in a row stay sorted.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from coded_mr.errors import UsageError
from coded_mr.terasort import KEY_BYTES
from coded_mr.terasort.records import Records, high_parts, key_bytes, low_parts, repeats
from coded_mr.terasort.sort import sorted_order

__all__ = ["Splitters", "make_splitters"]


@dataclass(frozen=True, eq=False)
class Splitters:
    """Hold the Q-1 keys that bound Q partitions, each different key once; a few bytes for each.

    Attributes:
        partitions: Q.
        high: the D keys' first 8 bytes, ascending, shape (D,).
        low: the same keys' last 2 bytes, shape (D,).
        first: how many splitters lie below each key, and Q-1 at the end, shape (D+1,); key d touches
            partitions first[d] .. first[d+1].
        shares: for each key the parts of its records that those partitions get, whole numbers.
    """

    partitions: int
    high: NDArray[np.uint64]
    low: NDArray[np.uint16]
    first: NDArray[np.int64]
    shares: tuple[tuple[int, ...], ...]

    def keys(self) -> list[bytes]:
        """Return the Q-1 splitters in order, repeated ones too; none if the sample was empty."""
        times = np.diff(self.first)
        high, low = np.repeat(self.high, times).tolist(), np.repeat(self.low, times).tolist()
        return [key_bytes(*parts) for parts in zip(high, low, strict=True)]

    def partition(self, records: Records) -> NDArray[np.uint16] | NDArray[np.uint32]:
        """Return the partition of each record, shape (n,); the same records give the same partitions.

        The records of a key that touches several partitions go there in the order of the array, within
        one record of the key's shares.
        """
        kind = np.uint16 if self.partitions <= 1 << 16 else np.uint32
        first = self.first.astype(kind)
        groups, starts = np.unique(self.high, return_index=True)
        high = high_parts(records)
        group = np.searchsorted(groups, high)
        result: NDArray[np.uint16] | NDArray[np.uint32] = first[np.append(starts, len(self.high))][group]
        if len(groups):
            close = np.flatnonzero(groups[np.minimum(group, len(groups) - 1)] == high)
            self._place_close(records, close, group[close], result)
        return result

    def _place_close(
        self,
        records: Records,
        close: NDArray[np.int64],
        group: NDArray[np.int64],
        result: NDArray[np.uint16] | NDArray[np.uint32],
    ) -> None:
        """Write the partitions of records `close`, whose first 8 bytes are those of some splitter."""
        bounds = _tagged(np.cumsum(np.diff(self.high, prepend=self.high[:1]) > 0), self.low)
        keys = _tagged(group, low_parts(records[close, :KEY_BYTES]))
        index = np.searchsorted(bounds, keys)
        result[close] = self.first[index]
        equal = np.flatnonzero(bounds[np.minimum(index, len(bounds) - 1)] == keys)
        which = index[equal]
        by_key = close[equal[np.argsort(which, kind="stable")]]
        counts = np.bincount(which, minlength=len(bounds)).tolist()
        ends = np.cumsum(counts).tolist()
        for key, (count, end) in enumerate(zip(counts, ends, strict=True)):
            if count:
                touched = np.arange(self.first[key], self.first[key + 1] + 1)
                result[by_key[end - count : end]] = np.repeat(touched, _parts(self.shares[key], count))


def make_splitters(sample: Records, partitions: int) -> Splitters:
    """Return the splitters for Q `partitions` from sample records, shape (n, 100), in any order.

    With an empty sample every record goes to partition 0.

    Raises:
        UsageError: `partitions` is below 1.
    """
    if partitions < 1:
        raise UsageError(f"cannot sort into {partitions} partitions; ask for at least 1")
    size = len(sample)
    cuts = [size * cut for cut in range(1, partitions)] if size else []
    keys = sample[sorted_order(sample), :KEY_BYTES]
    high, low = high_parts(keys), low_parts(keys)
    changes = np.flatnonzero(~repeats(high, low)) + 1
    runs = np.concatenate(([0], changes, [size]))
    run_of_cut = np.searchsorted(runs, np.array(cuts, np.int64) // partitions, side="right") - 1
    cut_runs, first = np.unique(run_of_cut, return_index=True)
    first = np.append(first, len(cuts)).astype(np.int64)
    shares = []
    for run, (begin, end) in zip(cut_runs.tolist(), pairwise(first.tolist()), strict=True):
        edges = [int(runs[run]) * partitions, *cuts[begin:end], int(runs[run + 1]) * partitions]
        shares.append(tuple(right - left for left, right in pairwise(edges)))
    starts = runs[cut_runs]
    return Splitters(partitions, high[starts], low[starts], first, tuple(shares))


def _tagged(group: NDArray[np.int64], low: NDArray[np.uint16]) -> NDArray[np.int64]:
    """Put the number of an 8-byte prefix in front of 2 more key bytes."""
    return (group << 16) | low


def _parts(shares: tuple[int, ...], count: int) -> list[int]:
    """Split `count` in proportion to `shares`, each less than 1 off; equal shares differ by 1 at most."""
    total = sum(shares)
    ends = [(2 * count * done + total) // (2 * total) for done in accumulate(shares, initial=0)]
    return [right - left for left, right in pairwise(ends)]
