"""Turn a job into bytes: what the engine asks of any kind of job, and which kernel answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from coded_mr.job import Job, RecordJob
from coded_mr.streaming import StreamingJob

if TYPE_CHECKING:
    from coded_mr.io.inputs import InputFile

__all__ = ["Kernel", "Mapped", "Reduced", "kernel_for", "read_bytes"]


@dataclass(frozen=True)
class Mapped:
    """Hold the intermediate values of one batch, and what they were made from.

    values: canonical bytes V[q,B] by partition q, b"" when empty.  pairs: pairs or records in each.
    records_in: pairs or records that map emitted for the batch, before combining.  bytes_in: plain
    input bytes (pairs: estimated, by the weight of the file, for compressed input).
    """

    values: list[bytes | memoryview]
    pairs: list[int]
    records_in: int
    bytes_in: int


@dataclass
class Reduced:
    """Yield the output of one partition; the counts are complete when blocks is exhausted.

    blocks: bytes to append to the part file, about a MiB each.  groups: keys (or records) reduced.
    pairs_in: pairs or records taken in.  records_out: lines or records in the blocks.
    """

    blocks: Iterator[bytes | memoryview] = field(default_factory=lambda: iter(()))
    groups: int = 0
    pairs_in: int = 0
    records_out: int = 0


class Kernel(Protocol):
    """Map batches to intermediate values and reduce partitions of them, for one job.

    combines: whether the job makes one value of several on the way.
    """

    combines: bool

    def prepare(self, files: Sequence[InputFile], partitions: int) -> object:
        """Return what every rank must adopt (picklable); called on rank 0, before planning."""

    def adopt(self, prepared: object, partitions: int) -> None:
        """Take what prepare() returned and the number of partitions; called before anything else."""

    def map_batch(self, files: Sequence[InputFile]) -> Mapped:
        """Map the files of a batch, in order.  Raises UserCodeError, KeyTypeError, InputError."""

    def reduce_partition(self, partition: int, values: Sequence[bytes | memoryview]) -> Reduced:
        """Reduce the intermediate values of a partition, given in batch order.

        The blocks raise UserCodeError, KeyTypeError or PacketError as they are taken.
        """

    def without_combine(self) -> Kernel:
        """Return a kernel of the same job, prepared alike, that does not combine."""

    def combined_again(self, values: Sequence[bytes | memoryview]) -> bytes:
        """Return the intermediate values of a partition as one, combined over what was combined already."""

    def contents(self, value: bytes | memoryview) -> list[object]:
        """Return what is in an intermediate value, pairs or records, for messages."""


def read_bytes(files: Iterable[InputFile]) -> int:
    """Return the plain bytes of text files, estimated by their weight for compressed ones."""
    return sum(file.length if file.compression is None else file.weight for file in files)


def kernel_for(job: Job | RecordJob) -> Kernel:
    """Return the kernel that runs a job."""
    if isinstance(job, RecordJob):
        from coded_mr.kernels.records import RecordsKernel

        return RecordsKernel(job)
    if isinstance(job, StreamingJob):
        from coded_mr.kernels.streaming import StreamingKernel

        return StreamingKernel(job)
    from coded_mr.kernels.pairs import PairsKernel

    return PairsKernel(job)
