"""Run a RecordJob: the rows of numpy arrays, grouped by partition, are the bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from coded_mr.errors import CodedMRError, PacketError, UserCodeError
from coded_mr.job import RecordJob
from coded_mr.kernels import Mapped, Reduced
from coded_mr.kernels.sampling import sample

if TYPE_CHECKING:
    from coded_mr.io.inputs import InputFile

__all__ = ["RecordsKernel"]

_BLOCK = 4 << 20
_SLACK = 16

Rows: TypeAlias = NDArray[np.uint8]
Ids: TypeAlias = NDArray[np.integer[Any]]


class RecordsKernel:
    """Be the kernel of a RecordJob; see coded_mr.kernels.Kernel."""

    combines = False

    def __init__(self, job: RecordJob) -> None:
        self.job = job
        self.partitions = 1
        self.out_bytes = job.record_bytes if job.out_bytes is None else job.out_bytes
        self._name = type(job).__name__

    def prepare(self, files: Sequence[InputFile], partitions: int) -> object:
        """Return what the job prepares from a sample of the input.  Raises UserCodeError, InputError."""
        records = sample(files, self.job.sample_records, self.job.record_bytes)
        try:
            return self.job.prepare(records, partitions)
        except CodedMRError:
            raise
        except (Exception, SystemExit) as error:
            self._explain("prepare", f"with a sample of {len(records)} records", error)

    def adopt(self, prepared: object, partitions: int) -> None:
        """Set job.prepared and the number of partitions."""
        self.job.prepared = prepared
        self.partitions = partitions

    def map_batch(self, files: Sequence[InputFile]) -> Mapped:
        """Map the files of a batch, in order.  Raises UserCodeError, InputError."""
        grouped = _Grouped(self.partitions, self.out_bytes, sum(file.length for file in files))
        read = 0
        for file in files:
            for block in _blocks_of(file):
                records = block.records()
                read += records.nbytes
                grouped.add(*self._map(block, records), read)
        counts = grouped.counts
        return Mapped(grouped.values(), counts, sum(counts), read)

    def reduce_partition(self, partition: int, values: Sequence[bytes | memoryview]) -> Reduced:
        """Reduce the intermediate values of a partition, given in batch order."""
        reduced = Reduced()
        reduced.blocks = self._blocks(partition, values, reduced)
        return reduced

    def without_combine(self) -> RecordsKernel:
        """Return itself: records are not combined."""
        return self

    def combined_again(self, values: Sequence[bytes | memoryview]) -> bytes:
        """Return the intermediate values of a partition as one."""
        return b"".join(values)

    def contents(self, value: bytes | memoryview) -> list[object]:
        """Return the records in an intermediate value."""
        return [bytes(value[at : at + self.out_bytes]) for at in range(0, len(value), self.out_bytes)]

    def _map(self, file: InputFile, records: Rows) -> tuple[Rows, Ids]:
        try:
            rows = self.job.map(records)
        except CodedMRError:
            raise
        except (Exception, SystemExit) as error:
            self._explain("map", f"of {file.name}", error)
        rows = self._checked(rows, "map", f"of {file.name}")
        try:
            ids = self.job.partition(rows, self.partitions)
        except CodedMRError:
            raise
        except (Exception, SystemExit) as error:
            self._explain("partition", f"of the records of {file.name}", error)
        return rows, self._checked_ids(ids, len(rows), file)

    def _blocks(
        self, partition: int, values: Sequence[bytes | memoryview], reduced: Reduced
    ) -> Iterator[memoryview]:
        where = f"of partition {partition}"
        rows = self._joined(values, where)
        reduced.groups = reduced.pairs_in = len(rows)
        try:
            output = self.job.reduce(rows)
        except CodedMRError:
            raise
        except (Exception, SystemExit) as error:
            self._explain("reduce", where, error)
        output = self._checked(output, "reduce", where)
        reduced.records_out = len(output)
        data = np.ascontiguousarray(output).reshape(-1).data
        for begin in range(0, len(data), _BLOCK):
            yield data[begin : begin + _BLOCK]

    def _joined(self, values: Sequence[bytes | memoryview], where: str) -> Rows:
        sizes = [len(value) for value in values]
        for size in sizes:
            if size % self.out_bytes:
                raise PacketError(
                    f"an intermediate value {where} has {size} bytes, no multiple of the record length "
                    f"{self.out_bytes}: it was damaged on its way, or ranks run different versions"
                )
        rows = np.empty(sum(sizes), dtype=np.uint8)
        begin = 0
        for value, size in zip(values, sizes, strict=True):
            rows[begin : begin + size] = np.frombuffer(value, dtype=np.uint8)
            begin += size
        return rows.reshape(-1, self.out_bytes)

    def _checked(self, rows: object, stage: str, where: str) -> Rows:
        if not isinstance(rows, np.ndarray) or rows.dtype != np.uint8 or rows.shape[1:] != (self.out_bytes,):
            raise UserCodeError(
                f"{self._name}.{stage} {where} returned {_described(rows)}: it must return a uint8 array of "
                f"shape (n, {self.out_bytes}); the class variable out_bytes sets the {self.out_bytes}"
            )
        return rows

    def _checked_ids(self, ids: object, count: int, file: InputFile) -> Ids:
        where = f"{self._name}.partition of the {count} records of {file.name} returned"
        if not isinstance(ids, np.ndarray) or ids.dtype.kind not in "iu" or ids.shape != (count,):
            raise UserCodeError(f"{where} {_described(ids)}: it must be an integer array of shape ({count},)")
        if count and not 0 <= int(ids.min()) <= int(ids.max()) < self.partitions:
            raise UserCodeError(
                f"{where} partitions from {ids.min()} to {ids.max()}: there are {self.partitions}, "
                f"so they must be 0 to {self.partitions - 1}"
            )
        # A stable sort of one or two bytes is a radix sort, much faster than that of wider integers.
        return ids.astype(np.min_scalar_type(self.partitions - 1), copy=False)

    def _explain(self, stage: str, where: str, error: BaseException) -> NoReturn:
        raise UserCodeError(
            f"{self._name}.{stage} {where} raised {type(error).__name__}: {error}; correct {stage}"
        ) from error


def _blocks_of(file: InputFile) -> Iterator[InputFile]:
    """Cut a file into pieces whose records fit in the caches, and in memory that is used again and again."""
    unit = file.record_bytes or 1
    step = max(_BLOCK // unit, 1) * unit
    if file.compression is not None or file.length <= step:
        yield file
        return
    for begin in range(0, file.length, step):
        length = min(step, file.length - begin)
        yield replace(file, offset=file.offset + begin, length=length, weight=length)


class _Grouped:
    """Gather rows by partition, in an array for each, so that each can be freed on its own."""

    def __init__(self, partitions: int, width: int, input_bytes: int) -> None:
        """Expect rows of `width` bytes from so many bytes of input."""
        self.counts = [0] * partitions
        self._rows = [np.empty((0, width), dtype=np.uint8) for _ in range(partitions)]
        self._input_bytes = input_bytes

    def add(self, rows: Rows, ids: Ids, read: int) -> None:
        """Append each row to its partition; so many bytes of the input have been read by now."""
        order = np.argsort(ids, kind="stable")
        begin = 0
        for q, count in enumerate(np.bincount(ids, minlength=len(self.counts)).tolist()):
            filled = self.counts[q]
            self.counts[q] += count
            into = self._with_room(q, filled, read)[filled : filled + count]
            # mode="clip" lets take write into the result without a copy in between.
            np.take(rows, order[begin : begin + count], axis=0, out=into, mode="clip")
            begin += count

    def _with_room(self, q: int, filled: int, read: int) -> Rows:
        rows, count = self._rows[q], self.counts[q]
        if len(rows) < count:
            # What is never written to takes no memory: room for all that this partition is likely to get.
            likely = count * max(self._input_bytes, read) // max(read, 1)
            room = max(likely + likely // _SLACK, 2 * len(rows))
            self._rows[q] = np.empty((room, rows.shape[1]), dtype=np.uint8)
            self._rows[q][:filled] = rows[:filled]
        return self._rows[q]

    def values(self) -> list[bytes | memoryview]:
        """Return the bytes of each partition, and give away the room that was left."""
        found: list[bytes | memoryview] = []
        for rows, count in zip(self._rows, self.counts, strict=True):
            rows.resize((count, rows.shape[1]), refcheck=False)
            found.append(rows.reshape(-1).data if count else b"")
        return found


def _described(item: object) -> str:
    if isinstance(item, np.ndarray):
        return f"an array of dtype {item.dtype} and shape {item.shape}"
    return "None (is a return missing?)" if item is None else f"a {type(item).__name__}"
