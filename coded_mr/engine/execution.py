"""One plan carried out by one rank: map, shuffle, reduce."""

from __future__ import annotations

import socket
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import cast

from mpi4py import MPI

from coded_mr.engine.conservation import PartitionCount, RankCount
from coded_mr.engine.interfaces import InterfaceCounter
from coded_mr.engine.mapping import Mapping
from coded_mr.engine.multicast import Carrier
from coded_mr.engine.multicast.link import SharedLink
from coded_mr.engine.progress import Display, Progress
from coded_mr.engine.progress_board import Status
from coded_mr.engine.shuffle import Limits, Shuffle
from coded_mr.engine.store import Store
from coded_mr.engine.timeline import Timeline
from coded_mr.engine.waiting import barrier, gather
from coded_mr.engine.worker import Worker
from coded_mr.errors import NondeterministicMapError
from coded_mr.io.inputs import InputFile
from coded_mr.io.output import OutputDirectory
from coded_mr.kernels import Kernel
from coded_mr.plan.model import Plan

__all__ = ["Execution", "Tools"]


@dataclass(frozen=True)
class Tools:
    """What a rank works with, whatever the plan; `progress` shows how far a long run is."""

    worker: Worker
    kernel: Kernel
    limits: Limits
    link: SharedLink | None
    carrier: Carrier
    progress: bool = False


class Execution:
    """Carry out one rank's part of a plan; `count` and `timeline` tell what happened.

    `batches` are the files of every batch on rank 0; elsewhere of those that the rank maps.
    """

    def __init__(
        self,
        world: MPI.Intracomm,
        plan: Plan,
        batches: dict[int, list[InputFile]],
        tools: Tools,
        output: OutputDirectory,
        *,
        overlap: bool,
    ) -> None:
        """Prepare; `overlap` lets packets leave while others are still being mapped (Theorem 2)."""
        self._world = world
        self._plan = plan
        self._batches = batches
        self._tools = tools
        self._output = output
        self._overlap = overlap
        self.timeline = Timeline(speaks=world.rank == 0)
        self.count = RankCount(world.rank, socket.gethostname(), stages=self.timeline.stages)

    def run(self) -> None:
        """Map, shuffle and reduce with the ranks that the plan needs; collective over the world."""
        spare = self._world.rank >= self._plan.ranks
        comm = cast("MPI.Intracomm", self._world.Split(int(spare), self._world.rank))
        barrier(self._world)
        if not spare:
            self._take_part(comm)
        comm.Free()

    def _take_part(self, comm: MPI.Intracomm) -> None:
        store = Store(self._plan, comm.rank)
        mine = {batch: self._batches[batch] for batch in self._plan.batches_of[comm.rank]}
        tools = self._tools
        # Of its own: packets use every tag there is.
        channel = comm.Dup()
        progress = Progress(channel, Display.standard() if tools.progress else None)
        mapping = Mapping(
            tools.worker, tools.kernel, self._plan, store, mine, self.count, self.timeline, progress.poll
        )
        shuffle = Shuffle(
            comm,
            self._plan,
            store,
            limits=tools.limits,
            blame=self._blame,
            mapping=mapping,
            link=tools.link,
            carrier=tools.carrier,
        )
        progress.watch(lambda: shuffle.status)
        if not self._overlap:
            self._prepare(shuffle)
            mapping.finish()
            self._agree(comm, mapping.digests, progress)
        counter = InterfaceCounter(comm)
        counter.start()
        with self.timeline.stage("shuffle"):
            self.count.traffic = shuffle.run()
        mapping.finish()
        if self._overlap:
            self._agree(comm, mapping.digests, progress)
        with self.timeline.stage("wait for packets"):
            progress.barrier()
        self.count.traffic.interface = counter.bytes()
        self.count.peak_bytes = store.peak_bytes
        with self.timeline.stage("reduce"):
            progress.watch(self._reduce_status)
            for q in self._plan.reduces[comm.rank]:
                self._reduce(q, store, progress)
        progress.close()
        channel.Free()

    def _prepare(self, shuffle: Shuffle) -> None:
        """Set groups up while the worker maps; what that takes beyond the map is the shuffle's time."""
        started = self.timeline.now()
        shuffle.prepare()
        if shuffle.traffic.exposed_group_seconds:
            mapped = max(stage.stop for stage in self.timeline.stages)
            self.timeline.add("shuffle", max(started, mapped))

    def _agree(self, comm: MPI.Intracomm, digests: dict[int, int], progress: Progress) -> None:
        """Wait for all maps; all ranks that mapped a batch must have got the same bytes of it."""
        with self.timeline.stage("wait for maps"):
            progress.barrier()
            everyone = gather(comm, digests)
            for batch, (mappers, _) in enumerate(self._plan.batches if everyone else ()):
                assert everyone is not None
                for rank in mappers[1:]:
                    if everyone[rank][batch] != everyone[mappers[0]][batch]:
                        raise NondeterministicMapError.between(mappers[0], rank, self._blame(batch))
            barrier(comm)

    def _reduce_status(self) -> Status:
        reduced = self.count.reduced
        read = sum(part.bytes for part in reduced.values())
        return Status("reduce", len(reduced), len(self._plan.reduces[self.count.rank]), read)

    def _reduce(self, partition: int, store: Store, progress: Progress) -> None:
        values = store.take_partition(partition)

        def reduce() -> None:
            reduced = self._tools.kernel.reduce_partition(partition, [value.data for value in values])
            if self._plan.reducers_of[partition][0] == self.count.rank:
                self.count.parts[partition] = self._output.write_part(partition, reduced.blocks)
                self.count.groups_reduced += reduced.groups
                self.count.records_out += reduced.records_out
            else:
                self.count.copies[partition] = _digest(reduced.blocks)
            self.count.reduced[partition] = PartitionCount(
                reduced.pairs_in, sum(value.size for value in values)
            )

        done = self._tools.worker.start(reduce)
        while not self._tools.worker.wait(done):
            progress.poll()
        done.result()

    def _blame(self, batch: int) -> str:
        """Return the file whose map gives different bytes twice, or all files of the batch."""
        files = self._batches[batch]
        worker, kernel = self._tools.worker, self._tools.kernel
        for file in files:
            first, second = (worker.run(partial(kernel.map_batch, [file])).values for _ in range(2))
            if list(map(bytes, first)) != list(map(bytes, second)):
                return file.name
        shown = ", ".join(file.name for file in files[:5]) + (", ..." if len(files) > 5 else "")
        return f"one of the {len(files)} files of batch {batch} ({shown})"


def _digest(blocks: Iterable[bytes | memoryview]) -> tuple[int, int]:
    """Return the size and CRC-32 of a result that another rank writes."""
    size = crc = 0
    for block in blocks:
        size, crc = size + memoryview(block).nbytes, zlib.crc32(block, crc)
    return size, crc
