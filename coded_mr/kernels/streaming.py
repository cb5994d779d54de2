"""Run a StreamingJob: pairs of bytes travel in runs, which are merged in the order of the input.

An intermediate value is a sequence of runs.  A run has the pairs of files that follow one another in the
input (of a whole batch, when they are combined): the number of its first file, its length, and its bytes as
coded_mr.kernels.serial encodes them.  However a plan deals the files to batches, the merged runs have the
values of a key in the order in which one mapper, given all the input, would have written them.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from coded_mr.errors import PacketError
from coded_mr.kernels import Mapped, Reduced, read_bytes
from coded_mr.kernels.grouping import Groups
from coded_mr.kernels.serial import stable_hashes
from coded_mr.streaming import StreamingJob

if TYPE_CHECKING:
    from coded_mr.io.inputs import InputFile

__all__ = ["StreamingKernel"]

_RUN = struct.Struct("<QQ")
_COMBINE_AT = 1 << 18


class StreamingKernel:
    """Be the kernel of a StreamingJob; see coded_mr.kernels.Kernel."""

    def __init__(self, job: StreamingJob) -> None:
        self.job = job
        self.partitions = 1
        self.combines = job.combiner is not None

    def prepare(self, files: Sequence[InputFile], partitions: int) -> object:
        """Return None: commands need no preparation."""
        return None

    def adopt(self, prepared: object, partitions: int) -> None:
        """Take the number of partitions."""
        self.partitions = partitions

    def map_batch(self, files: Sequence[InputFile]) -> Mapped:
        """Map the files of a batch, in order.  Raises UserCodeError, InputError."""
        values = [bytearray() for _ in range(self.partitions)]
        pairs = [0] * self.partitions
        emitted = 0
        for _, stretch in groupby(enumerate(files), key=self._run_of):
            groups, first, count = self._map(file for _, file in stretch)
            emitted += count
            data, counts = groups.encoded(self._partition_ids, self.partitions)
            for q, (some, number) in enumerate(zip(data, counts, strict=True)):
                values[q] += _run(first, some)
                pairs[q] += number
        return Mapped(list(map(bytes, values)), pairs, emitted, read_bytes(files))

    def reduce_partition(self, partition: int, values: Sequence[bytes | memoryview]) -> Reduced:
        """Reduce the intermediate values of a partition."""
        reduced = Reduced()
        reduced.blocks = self._blocks(partition, values, reduced)
        return reduced

    def without_combine(self) -> StreamingKernel:
        """Return a kernel of the same job that does not combine."""
        plain = StreamingKernel(dataclasses.replace(self.job, combiner=None))
        plain.adopt(None, self.partitions)
        return plain

    def combined_again(self, values: Sequence[bytes | memoryview]) -> bytes:
        """Return the intermediate values of a partition as one, its values combined."""
        (data,), _ = self._combined(_merged(values), "again").encoded(lambda keys: [0] * len(keys), 1)
        return _run(0, data)

    def contents(self, value: bytes | memoryview) -> list[object]:
        """Return the pairs in an intermediate value."""
        return list(_merged([value]).pairs_in_order())

    def _run_of(self, place: tuple[int, InputFile]) -> int:
        """Return what the files of one run, at consecutive places of the batch, have in common."""
        position, file = place
        return 0 if self.combines else file.index - position

    def _map(self, files: Iterable[InputFile]) -> tuple[Groups, int, int]:
        """Return the pairs of a run, its first file, and how many pairs there were before combining."""
        groups = Groups()
        numbers: list[int] = []
        emitted, limit = 0, _COMBINE_AT
        for file in files:
            numbers.append(file.index)
            emitted += _add(groups, self.job.map(file, self.partitions))
            if self.combines and groups.pairs > limit:
                groups = self._combined(groups, f"up to {file.name}")
                limit = max(_COMBINE_AT, 2 * groups.pairs)
        if self.combines:
            groups = self._combined(groups, f"up to {file.name}")
        return groups, numbers[0], emitted

    def _combined(self, groups: Groups, where: str) -> Groups:
        fewer = Groups()
        _add(fewer, self.job.combine_lines(groups.pairs_in_order(), where))
        return fewer

    def _partition_ids(self, keys: list[bytes]) -> Iterable[int]:
        return (number % self.partitions for number in stable_hashes(keys))

    def _blocks(
        self, partition: int, values: Sequence[bytes | memoryview], reduced: Reduced
    ) -> Iterator[bytes]:
        groups = _merged(values)
        reduced.groups, reduced.pairs_in = len(groups), groups.pairs
        for block in self.job.reduce_lines(groups.pairs_in_order(), partition, self.partitions):
            reduced.records_out += block.count(b"\n")
            yield block


def _add(groups: Groups, pairs: Iterable[tuple[Any, Any]]) -> int:
    return groups.add_all(pairs, partial(AssertionError, "no pair"))


def _run(first: int, data: bytes | memoryview) -> bytes:
    return b"".join([_RUN.pack(first, len(data)), data]) if data else b""


def _merged(values: Iterable[bytes | memoryview]) -> Groups:
    """Return the pairs of all runs, in the order of the input."""
    groups = Groups()
    for _, data in sorted((run for value in values for run in _runs(memoryview(value))), key=itemgetter(0)):
        groups.add_encoded(data)
    return groups


def _runs(value: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield the first file and the bytes of each run in an intermediate value."""
    at = 0
    while at < len(value):
        start = at + _RUN.size
        first, size = _RUN.unpack(value[at:start]) if start <= len(value) else (0, len(value))
        at = start + size
        if at > len(value):
            raise PacketError(
                f"an intermediate value of {len(value)} bytes ends within a run: it was damaged on its way, "
                "or ranks run different versions"
            )
        yield first, value[start:at]
