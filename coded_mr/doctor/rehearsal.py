"""Run a job on a sample in this process, on this thread: a debugger stops where it is told to."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from coded_mr.io.inputs import InputFile, discover, split
from coded_mr.job import Job, RecordJob
from coded_mr.kernels import Kernel, Mapped, kernel_for

__all__ = ["Rehearsal", "rehearse", "sample", "stamps_of"]


@dataclass
class Rehearsal:
    """Hold a job's stages, one after the other, and how long each took.

    mapped: one for each file.  parts: the content of each part file.  records_out: lines or records in
    them.  seconds: by stage.  stamps: what `stamps_of` said of the files before.
    """

    job: Job | RecordJob
    files: Sequence[InputFile]
    partitions: int
    prepared: object = None
    mapped: list[Mapped] = field(default_factory=list)
    parts: list[bytes] = field(default_factory=list)
    records_out: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    stamps: dict[str, tuple[int, int]] = field(default_factory=dict)

    def kernel(self) -> Kernel:
        """Return a kernel that has adopted what the job prepared."""
        kernel = kernel_for(self.job)
        kernel.adopt(self.prepared, self.partitions)
        return kernel

    def run(self) -> None:
        """Prepare, map every file as a batch of its own, reduce.  Raises what the job's stages raise."""
        self.stamps = stamps_of(self.files)
        with self._timed("prepare"):
            self.prepared = kernel_for(self.job).prepare(self.files, self.partitions)
        kernel = self.kernel()
        with self._timed("read"):
            for file in self.files:
                file.read()
        with self._timed("map"):
            self.mapped = [kernel.map_batch([file]) for file in self.files]
        with self._timed("reduce"):
            for partition in range(self.partitions):
                reduced = kernel.reduce_partition(partition, self.values(partition))
                self.parts.append(b"".join(reduced.blocks))
                self.records_out += reduced.records_out

    def values(self, partition: int) -> list[bytes | memoryview]:
        """Return the intermediate values of a partition, in the order of the files."""
        return [mapped.values[partition] for mapped in self.mapped]

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.seconds[stage] = time.perf_counter() - began


def rehearse(job: Job | RecordJob, inputs: Sequence[str], *, partitions: int = 1) -> list[bytes]:
    """Return what the part files of a run would hold, made without MPI: for the tests of a job.

    inputs: files, directories and patterns.  Raises InputError, UserCodeError, KeyTypeError.
    """
    rehearsal = Rehearsal(job, sample(job, inputs), partitions)
    rehearsal.run()
    return rehearsal.parts


def sample(job: Job | RecordJob, inputs: Sequence[str], bytes_wanted: int | None = None) -> list[InputFile]:
    """Return the first files of the input that make up `bytes_wanted` (None: all), at least one.

    The sample is cut into several files where it can be, as a run cuts its input.
    """
    sources = discover(inputs)
    total = sum(source.weight for source in sources)
    wanted = total if bytes_wanted is None else min(bytes_wanted, total)
    target = max(1, min(wanted // 4, 64 << 20))
    if isinstance(job, RecordJob):
        files = split(sources, at_least=1, record_bytes=job.record_bytes, target_bytes=target)
    else:
        files = split(sources, at_least=1, whole_files=job.whole_files, target_bytes=target)
    taken, weight = 0, 0
    while taken < len(files) and (taken == 0 or weight < wanted):
        weight += files[taken].weight
        taken += 1
    return files[:taken]


def stamps_of(files: Sequence[InputFile]) -> dict[str, tuple[int, int]]:
    """Return when each path was last written, in nanoseconds since 1970, and its bytes; none that is gone."""
    stamps = {}
    for path in {file.path for file in files}:
        with suppress(OSError):
            status = Path(path).stat()
            stamps[path] = (status.st_mtime_ns, status.st_size)
    return stamps
