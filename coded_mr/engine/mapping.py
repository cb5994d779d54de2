"""Mapping a rank's batches, in the order in which packets need them, while MPI goes on."""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial

from coded_mr.engine.conservation import PartitionCount, RankCount
from coded_mr.engine.packet import Value, pack_header
from coded_mr.engine.progress_board import Status
from coded_mr.engine.store import Store
from coded_mr.engine.timeline import Timeline
from coded_mr.engine.worker import Worker
from coded_mr.io.inputs import InputFile
from coded_mr.kernels import Kernel, Mapped
from coded_mr.plan.model import Plan
from coded_mr.plan.order import map_order

__all__ = ["Mapping"]

# Bytes of input that the worker has been given beyond which it gets no more: enough for it to have something
# to do while MPI keeps the main thread for some milliseconds.
_AHEAD = 4 << 20


class Mapping:
    """Map the batches of a rank in the worker; keep, count and digest what comes.

    `poll` is called between messages: it takes what the worker has finished and hands it the next batches.
    `digests` has the digest of every mapped batch's values: equal on all ranks that map it.
    """

    def __init__(
        self,
        worker: Worker,
        kernel: Kernel,
        plan: Plan,
        store: Store,
        files: dict[int, list[InputFile]],
        count: RankCount,
        timeline: Timeline,
        idle: Callable[[], None] = lambda: None,
    ) -> None:
        """Start with the first batches; `poll` calls `idle` each time."""
        self._worker = worker
        self._kernel = kernel
        self._plan = plan
        self._store = store
        self._files = files
        self._count = count
        self._timeline = timeline
        self._idle = idle
        self._seen = _Seen()
        self._total = _Seen(
            sum(map(len, files.values())), sum(f.weight for own in files.values() for f in own)
        )
        self._started = timeline.now()
        self._pending = list(reversed(map_order(plan, count.rank)))
        self._given: deque[_Given] = deque()
        self.digests: dict[int, int] = {}
        self._give(lambda: True)
        self._note_end()

    @property
    def is_complete(self) -> bool:
        """Tell whether every batch is mapped."""
        return not self._given and not self._pending

    @property
    def status(self) -> Status:
        """Return how many files this rank has mapped, and their bytes (estimated for compressed ones)."""
        return Status("map", self._seen.files, self._total.files, self._seen.bytes, self._total.bytes)

    def has(self, batch: int) -> bool:
        """Tell whether a batch is mapped."""
        return batch in self.digests

    def finish(self) -> None:
        """Map what is left."""
        while not self.is_complete:
            if self._given:
                self._worker.wait(self._given[0].values)
            self.poll()

    def poll(self, may_start: Callable[[], bool] = lambda: True) -> bool:
        """Take the finished batches, and start the next if allowed; return whether any was finished."""
        self._idle()
        finished = 0
        while self._given and self._given[0].values.done():
            given = self._given.popleft()
            self._keep(given.batch, given.values.result(), given.mapped.result())
            finished += 1
        if finished:
            self._note_end()
        self._give(may_start)
        return finished > 0

    def _note_end(self) -> None:
        if self.is_complete:
            self._timeline.add("map", self._started)

    def _give(self, may_start: Callable[[], bool]) -> None:
        """Give the worker the next batches, at least one when it has none, if allowed."""
        while self._pending and sum(given.weight for given in self._given) < _AHEAD and may_start():
            batch = self._pending.pop()
            files = self._files[batch]
            mapped = self._worker.start(partial(self._kernel.map_batch, _Watched(files, self._seen)))
            # The checksums are the worker's too: the main thread has messages to look after.
            values = self._worker.start(partial(_values_of, mapped))
            self._given.append(_Given(batch, sum(file.weight for file in files), mapped, values))

    def _keep(self, batch: int, values: list[Value], mapped: Mapped) -> None:
        count = self._count
        files = len(self._files[batch])
        count.files += files
        count.bytes_in += mapped.bytes_in
        count.records += mapped.records_in
        if self._plan.batches[batch].mappers[0] == count.rank:
            count.spoken_files += files
            count.spoken_bytes_in += mapped.bytes_in
            count.spoken_records += mapped.records_in
            for q, (pairs, value) in enumerate(zip(mapped.pairs, values, strict=True)):
                part = count.mapped.setdefault(q, PartitionCount())
                part.pairs += pairs
                part.bytes += value.size
        self.digests[batch] = zlib.crc32(pack_header([value.entry for value in values]))
        self._store.put_mapped(batch, values)


@dataclass(frozen=True)
class _Given:
    """A batch that the worker has been given, its bytes of input, and what comes of it."""

    batch: int
    weight: int
    mapped: Future[Mapped]
    values: Future[list[Value]]


@dataclass
class _Seen:
    """Count files and their bytes."""

    files: int = 0
    bytes: int = 0


class _Watched(list[InputFile]):
    """The files of a batch, counted as the kernel, which takes each in turn, is done with them."""

    def __init__(self, files: Iterable[InputFile], seen: _Seen) -> None:
        """Count the first pass only: the kernel may look at its files again."""
        super().__init__(files)
        self._seen: _Seen | None = seen

    def __iter__(self) -> Iterator[InputFile]:
        """Yield the files."""
        seen, self._seen = self._seen, None
        for file in super().__iter__():
            yield file
            if seen is not None:
                seen.files += 1
                seen.bytes += file.weight


def _values_of(mapped: Future[Mapped]) -> list[Value]:
    return list(map(Value.of, mapped.result().values))
