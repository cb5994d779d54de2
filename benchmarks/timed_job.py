"""A job whose map and reduce take a given time, and whose values are all of equal size."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from coded_mr import RecordJob

__all__ = ["Timed"]


class Timed(RecordJob):
    """Take the time that the costs say, and send every record on.

    map_seconds: for all records on one rank
    reduce_seconds: for one partition
    records: how many there are in all
    """

    record_bytes = 100

    map_seconds: float
    reduce_seconds: float
    records: int

    def map(self, records: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Sleep for these records' share of the map time."""
        time.sleep(self.map_seconds * len(records) / self.records)
        return records

    def partition(self, records: NDArray[np.uint8], partitions: int) -> NDArray[np.int64]:
        """Deal the records round."""
        return np.arange(len(records)) % partitions

    def reduce(self, records: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Sleep for one partition's reduce time."""
        time.sleep(self.reduce_seconds)
        return records
