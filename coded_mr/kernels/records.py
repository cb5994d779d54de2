"""Run a RecordJob: the rows of numpy arrays, grouped by partition, are the bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
        mapped: list[tuple[Rows, Ids]] = []
        read = 0
        for file in files:
            records = file.records()
            read += records.nbytes
            mapped.append(self._map(file, records))
        counts = np.zeros(self.partitions, dtype=np.int64)
        for _, ids in mapped:
            counts += np.bincount(ids, minlength=self.partitions)
        values = self._grouped(mapped, counts)
        return Mapped(values, counts.tolist(), int(counts.sum()), read)

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

    def _grouped(self, mapped: list[tuple[Rows, Ids]], counts: NDArray[np.int64]) -> list[bytes | memoryview]:
        # One array for each partition, so that each can be freed on its own.
        grouped = [np.empty((count, self.out_bytes), dtype=np.uint8) for count in counts.tolist()]
        filled = [0] * self.partitions
        while mapped:
            rows, ids = mapped.pop(0)
            order = np.argsort(ids, kind="stable")
            begin = 0
            for q, count in enumerate(np.bincount(ids, minlength=self.partitions).tolist()):
                into = grouped[q][filled[q] : filled[q] + count]
                # mode="clip" lets take write into the result without a copy in between.
                np.take(rows, order[begin : begin + count], axis=0, out=into, mode="clip")
                filled[q] += count
                begin += count
        return [rows.reshape(-1).data if rows.size else b"" for rows in grouped]

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


def _described(item: object) -> str:
    if isinstance(item, np.ndarray):
        return f"an array of dtype {item.dtype} and shape {item.shape}"
    return "None (is a return missing?)" if item is None else f"a {type(item).__name__}"
