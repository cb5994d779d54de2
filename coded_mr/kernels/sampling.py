"""Read a sample of the input records at fixed positions, spread evenly over the files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from coded_mr.io.inputs import InputFile

__all__ = ["sample"]

_BLOCK_RECORDS = 100
_WHOLE_FILES = 4


def sample(files: Sequence[InputFile], count: int, record_bytes: int) -> NDArray[np.uint8]:
    """Return about count records, (n, record_bytes), in the order of the input; all if there are fewer.

    Plain files are read in blocks of at most 100 records at evenly spaced places.  A compressed file
    can only be read whole: at most 4 of them are, evenly spaced, and give evenly spaced records.  Both
    kinds give records in proportion to their weights.  The places depend on the arguments only.
    Raises InputError.
    """
    plain = [file for file in files if file.compression is None and file.length]
    packed = [file for file in files if file.compression is not None]
    weight = sum(file.length for file in plain)
    packed_weight = sum(file.weight for file in packed)
    from_packed = count * packed_weight // max(weight + packed_weight, 1)
    parts = _blocks(plain, count - from_packed, record_bytes) + _thinned(packed, from_packed)
    return np.concatenate([np.empty((0, record_bytes), dtype=np.uint8), *parts])


def _blocks(files: Sequence[InputFile], count: int, record_bytes: int) -> list[NDArray[np.uint8]]:
    """Return blocks of records from files that can be read anywhere."""
    starts = np.cumsum([0, *(file.length // record_bytes for file in files)])
    total = int(starts[-1])
    if not total or count <= 0:
        return []
    if total <= count:
        return [file.records() for file in files]
    # At least one block a file where the sample is large enough: a file may hold a range of its own.
    blocks = min(max(-(-count // _BLOCK_RECORDS), len(files)), count)
    places = [index * total // blocks for index in range(blocks + 1)]
    sizes = [(index + 1) * count // blocks - index * count // blocks for index in range(blocks)]
    parts = []
    for index, size in enumerate(sizes):
        # The middle of its stretch, but never past the end of the file it starts in.
        place = places[index] + (places[index + 1] - places[index] - size) // 2
        owner = int(np.searchsorted(starts, place, side="right")) - 1
        begin = max(min(place, int(starts[owner + 1]) - size), int(starts[owner]))
        length = min(size, int(starts[owner + 1]) - begin) * record_bytes
        offset = files[owner].offset + (begin - int(starts[owner])) * record_bytes
        parts.append(replace(files[owner], offset=offset, length=length).records())
    return parts


def _thinned(files: Sequence[InputFile], count: int) -> list[NDArray[np.uint8]]:
    """Return evenly spaced records of a few files that can only be read whole."""
    chosen = min(len(files), _WHOLE_FILES, count)
    parts = []
    for index in range(chosen):
        records = files[(2 * index + 1) * len(files) // (2 * chosen)].records()
        wanted = min((index + 1) * count // chosen - index * count // chosen, len(records))
        parts.append(records[np.arange(wanted) * len(records) // max(wanted, 1)])
    return parts
