"""One job on one MPI world: plan, map, shuffle, reduce, commit."""

from __future__ import annotations

import dataclasses
import logging
import socket
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import cast

from mpi4py import MPI

from coded_mr.engine import conservation
from coded_mr.engine.calibration import Calibration, bytes_per_second, measure_job
from coded_mr.engine.conservation import PartitionCount, RankCount
from coded_mr.engine.packet import Value, pack_header
from coded_mr.engine.run_report import RunReport
from coded_mr.engine.shuffle import Limits, Shuffle
from coded_mr.engine.store import Store
from coded_mr.engine.timeline import Timeline
from coded_mr.engine.waiting import barrier, broadcast, gather, scatter
from coded_mr.engine.worker import Worker
from coded_mr.errors import NondeterministicMapError
from coded_mr.io.inputs import InputFile, Source, assign, discover, split
from coded_mr.io.output import OutputDirectory, check_output
from coded_mr.job import Job, RecordJob
from coded_mr.kernels import Kernel, kernel_for
from coded_mr.plan.model import Plan
from coded_mr.plan.planner import Decision, Request, decide
from coded_mr.plan.verify import Verification, verify
from coded_mr.text import bytes_text, counted
from coded_mr.theory.costs import Costs

__all__ = ["Order", "run_order"]

_LOG = logging.getLogger("coded_mr")


@dataclass(frozen=True)
class Order:
    """Hold what a user asked for: a job, its input and output, and what the planner must respect.

    `costs` None means: measure. `job_id` is the same on every rank and names the run.
    """

    job: Job | RecordJob
    job_name: str
    inputs: tuple[str, ...]
    output: str
    request: Request
    job_id: str
    costs: Costs | None = None
    overwrite: bool = False
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class _Planned:
    """What rank 0 works out and every rank is told."""

    plan: Plan
    verification: Verification
    decision: Decision
    calibration: Calibration | None


def run_order(world: MPI.Intracomm, order: Order) -> RunReport | None:
    """Run a job on all ranks of a world and return the report on rank 0; collective.

    What goes wrong is raised on the rank where it happens, and only there: the caller must then abort the
    world (`failing.abort`), or the others wait for ever.
    """
    return _Run(world, order).execute()


class _Run:
    """One rank's way through the job."""

    def __init__(self, world: MPI.Intracomm, order: Order) -> None:
        # A communicator of our own: the caller's messages and ours cannot meet.
        self._world = world.Dup()
        self._order = order
        self._rank = world.rank
        self._worker = Worker(self._world)
        self._kernel: Kernel = kernel_for(order.job)
        self._output = OutputDirectory(order.output, order.job_id, overwrite=order.overwrite)
        self._timeline = Timeline()
        self._count = RankCount(self._rank, socket.gethostname())
        self._sources: list[Source] = []  # on rank 0, as is the next
        self._dealt: list[list[InputFile]] = []

    def execute(self) -> RunReport | None:
        try:
            return self._execute()
        except BaseException:
            self._output.abandon()
            raise

    def _execute(self) -> RunReport | None:
        with self._stage("plan"):
            planned = self._plan()
            files = self._deal(planned.plan)
        plan = planned.plan
        self._work(plan, files)
        with self._stage("commit"):
            report = self._finish(planned)
            barrier(self._world)
        self._world.Free()
        return report

    def _work(self, plan: Plan, files: dict[int, list[InputFile]]) -> None:
        """Map, shuffle and reduce with the ranks that the plan needs; a spare has nothing to do."""
        comm = cast("MPI.Intracomm", self._world.Split(int(self._rank >= plan.ranks), self._rank))
        if self._rank < plan.ranks:
            self._take_part(comm, plan, files)
        comm.Free()

    def _take_part(self, comm: MPI.Intracomm, plan: Plan, files: dict[int, list[InputFile]]) -> None:
        store = Store(plan, self._rank)
        with self._stage("map"):
            digests = self._map(plan, store, files)
        with self._stage("wait for maps"):
            self._agree(comm, plan, digests)
            barrier(comm)
        with self._stage("shuffle"):
            shuffle = Shuffle(
                comm,
                plan,
                store,
                limits=self._order.limits,
                blame=lambda batch: self._blame(batch, files[batch]),
            )
            self._count.traffic = shuffle.run()
        with self._stage("wait for packets"):
            barrier(comm)
        self._count.peak_bytes = store.peak_bytes
        with self._stage("reduce"):
            for q in plan.reduces[self._rank]:
                self._reduce(q, store)

    def _plan(self) -> _Planned:
        order = self._order
        Q = order.request.partitions

        def look() -> tuple[list[InputFile], int, object]:
            check_output(order.output, order.overwrite, order.inputs)
            self._sources = discover(order.inputs)
            files = self._split(1)
            prepared = self._worker.run(lambda: self._kernel.prepare(files, Q))
            self._output.prepare()
            return files, sum(source.weight for source in self._sources), prepared

        looked = look() if self._rank == 0 else None
        prepared = broadcast(self._world, lambda: looked[2] if looked else None)
        self._worker.run(lambda: self._kernel.adopt(prepared, Q))
        network = bytes_per_second(self._world) if order.costs is None else 0.0

        def settle() -> _Planned:
            assert looked is not None
            files, weight, _ = looked
            calibration = None
            costs = order.costs
            if costs is None:
                calibration = measure_job(self._worker, self._kernel, files, Q)
                costs = calibration.costs(weight, Q, network)
            request = dataclasses.replace(order.request, ranks=self._world.size)
            decision = decide(request, costs)
            plan = decision.chosen.build()
            _LOG.info("input: %s, about %s", counted(len(self._sources), "file"), bytes_text(weight))
            _LOG.info("costs: c_m=%.6g c_s=%.6g c_r=%.6g s", costs.map, costs.shuffle, costs.reduce)
            _LOG.info("plan: %s", plan.describe())
            return _Planned(plan, verify(plan), decision, calibration)

        return broadcast(self._world, settle)

    def _split(self, at_least: int) -> list[InputFile]:
        job = self._order.job
        if isinstance(job, RecordJob):
            return split(self._sources, at_least=at_least, record_bytes=job.record_bytes)
        return split(self._sources, at_least=at_least, whole_files=job.whole_files)

    def _deal(self, plan: Plan) -> dict[int, list[InputFile]]:
        """Return the files of each batch that this rank maps."""

        def hands() -> Sequence[dict[int, list[InputFile]]]:
            files = self._split(len(plan.batches))
            self._dealt = [
                [files[index] for index in indices]
                for indices in assign(files, [batch.share for batch in plan.batches])
            ]
            dealt = [{batch: self._dealt[batch] for batch in mine} for mine in plan.batches_of]
            return dealt + [{}] * (self._world.size - plan.ranks)

        return scatter(self._world, hands)

    def _map(self, plan: Plan, store: Store, files: dict[int, list[InputFile]]) -> dict[int, int]:
        """Map this rank's batches, keep what is needed, and return a digest of each batch's values."""
        count = self._count
        digests = {}
        for batch in plan.batches_of[self._rank]:
            mine = files[batch]
            mapped = self._worker.run(partial(self._kernel.map_batch, mine))
            values = [Value.of(data) for data in mapped.values]
            count.files += len(mine)
            count.bytes_in += mapped.bytes_in
            count.records += mapped.records_in
            if plan.batches[batch].mappers[0] == self._rank:
                count.spoken_files += len(mine)
                count.spoken_bytes_in += mapped.bytes_in
                count.spoken_records += mapped.records_in
                for q, (pairs, value) in enumerate(zip(mapped.pairs, values, strict=True)):
                    part = count.mapped.setdefault(q, PartitionCount())
                    part.pairs += pairs
                    part.bytes += value.size
            digests[batch] = zlib.crc32(pack_header([value.entry for value in values]))
            store.put_mapped(batch, values)
        return digests

    def _agree(self, comm: MPI.Intracomm, plan: Plan, digests: dict[int, int]) -> None:
        """Compare what the ranks made of each batch: all who mapped it must have got the same bytes."""
        everyone = gather(comm, digests)
        for batch, (mappers, _) in enumerate(plan.batches if everyone else ()):
            for rank in mappers[1:]:
                assert everyone is not None
                if everyone[rank][batch] != everyone[mappers[0]][batch]:
                    blamed = self._blame(batch, self._dealt[batch])
                    raise NondeterministicMapError.between(mappers[0], rank, blamed)

    def _reduce(self, partition: int, store: Store) -> None:
        values = store.take_partition(partition)

        def reduce() -> None:
            reduced = self._kernel.reduce_partition(partition, [value.data for value in values])
            self._count.parts[partition] = self._output.write_part(partition, reduced.blocks)
            self._count.reduced[partition] = PartitionCount(
                reduced.pairs_in, sum(value.size for value in values)
            )
            self._count.groups_reduced += reduced.groups
            self._count.records_out += reduced.records_out

        self._worker.run(reduce)

    def _blame(self, batch: int, files: list[InputFile]) -> str:
        """Return the file whose map gives different bytes twice, or all files of the batch."""
        for file in files:
            first, again = (
                self._worker.run(partial(self._kernel.map_batch, [file])).values for _ in range(2)
            )
            if list(map(bytes, first)) != list(map(bytes, again)):
                return file.name
        shown = ", ".join(file.name for file in files[:5]) + (", ..." if len(files) > 5 else "")
        return f"one of the {len(files)} files of batch {batch} ({shown})"

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        """Record a stage; rank 0 says when it is over."""
        with self._timeline.stage(name):
            yield
        if self._rank == 0:
            _LOG.info("%s: %.3f s", name, self._timeline.stages[-1].seconds)

    def _finish(self, planned: _Planned) -> RunReport | None:
        self._count.stages = self._timeline.stages
        ranks = gather(self._world, self._count)
        if ranks is None:
            return None
        files = len(self._split(len(planned.plan.batches)))
        compressed = any(source.compression for source in self._sources)
        plain = None if compressed else sum(source.size for source in self._sources)
        conservation.check(planned.plan, files, plain, ranks)
        report = RunReport(
            job_id=self._order.job_id,
            job=self._order.job_name,
            output=self._order.output,
            plan=planned.plan,
            verification=planned.verification,
            decision=planned.decision,
            calibration=planned.calibration,
            files=files,
            world=self._world.size,
            ranks=tuple(ranks),
        )
        self._output.commit(report.success())
        return report
