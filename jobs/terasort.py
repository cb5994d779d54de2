"""Sort records of 100 bytes by their first 10, as the TeraSort benchmark does.

    coded-mr generate terasort data.bin -n 1000000
    coded-mr run jobs/terasort.py data.bin -o OUT
    coded-mr validate terasort OUT --input data.bin

The part files of OUT, in the order of their numbers, hold the records of data.bin in order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coded_mr import RecordJob
from coded_mr.terasort.sort import sort_records
from coded_mr.terasort.splitters import Splitters, make_splitters

__all__ = ["TeraSort"]


class TeraSort(RecordJob):
    """Cut the keys into ranges of about equal size, then sort each range."""

    record_bytes = 100
    sample_records = 200_000

    def prepare(self, sample: NDArray[np.uint8], partitions: int) -> Splitters:
        """Choose the keys that part the ranges."""
        return make_splitters(sample, partitions)

    def partition(self, records: NDArray[np.uint8], partitions: int) -> NDArray[np.unsignedinteger]:
        """Find each record's range."""
        splitters: Splitters = self.prepared
        return splitters.partition(records)

    def reduce(self, records: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Sort the records of one range."""
        return sort_records(records)
