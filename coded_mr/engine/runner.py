"""A job on one MPI world: look at the input, plan, carry plans out, commit the result."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, TypedDict

from mpi4py import MPI

from coded_mr.engine import conservation
from coded_mr.engine.calibration import calibrate
from coded_mr.engine.execution import Execution, Tools
from coded_mr.engine.hosts import hosts_of
from coded_mr.engine.multicast import AUTO, TRANSPORTS, open_carriers
from coded_mr.engine.multicast.link import SharedLink
from coded_mr.engine.profile import Profile
from coded_mr.engine.run_report import RunReport
from coded_mr.engine.shuffle import Limits
from coded_mr.engine.waiting import barrier, broadcast, gather, scatter
from coded_mr.engine.worker import Worker
from coded_mr.errors import UsageError
from coded_mr.io.inputs import InputFile, Source, deal, discover, split
from coded_mr.io.output import OutputDirectory, check_output
from coded_mr.job import Job, RecordJob, parameter_values
from coded_mr.kernels import kernel_for
from coded_mr.plan.candidate import Candidate
from coded_mr.plan.machine import Machine
from coded_mr.plan.model import Plan
from coded_mr.plan.planner import Decision, Request, decide
from coded_mr.plan.relabel import relabelled
from coded_mr.plan.turns import in_turns
from coded_mr.plan.verify import verify
from coded_mr.text import bytes_text, counted
from coded_mr.theory.costs import Costs

if TYPE_CHECKING:
    from coded_mr.topology import Placement, Sites

__all__ = ["Order", "Session", "run_order"]

_LOG = logging.getLogger("coded_mr")


@dataclass(frozen=True)
class Order:
    """Hold what a user asked for: a job, its input and output, and what the planner must respect.

    Without `costs` and `profile` the costs are measured. `job_id` is the same on every rank and names the
    run. `link_rate` emulates one shared link of so many bytes a second among ranks on one host.
    `transport` is one of `TRANSPORTS`, or "auto": what is measured to be fastest for the plan, and `groups`
    when `costs` are given. `interface` is the network for multicasts. `topology` says where hosts are: a
    file, "slurm", or None when it is not known. `progress` shows on standard error how far a long run is.
    """

    job: Job | RecordJob
    job_name: str
    inputs: tuple[str, ...]
    output: str
    request: Request
    job_id: str
    costs: Costs | None = None
    profile: Profile | None = None
    overwrite: bool = False
    limits: Limits = field(default_factory=Limits)
    link_rate: float | None = None
    transport: str = AUTO
    interface: str | None = None
    topology: str | None = None
    progress: bool = False


def run_order(world: MPI.Intracomm, order: Order) -> RunReport | None:
    """Run a job on all ranks of a world and return the report on rank 0; collective.

    What goes wrong is raised on the rank where it happens, and only there: the caller must then abort the
    world (`failing.abort`), or the others wait for ever.
    """
    output = OutputDirectory(order.output, order.job_id, overwrite=order.overwrite)
    try:
        with Session(world, order) as session:
            decision = session.decide(order.request)
            report = session.execute(decision, output)
            if report is not None:
                output.commit(report.success())
            session.synchronise()
            return report
    except BaseException:
        output.abandon()
        raise


class _Cutting(TypedDict):
    whole_files: bool
    record_bytes: int | None


class Session:
    """A job made ready on a world, on which one or more plans can be carried out.

    Use as a context manager. All methods are collective over the world. `drop` loses datagrams of the
    transport `ip`, for tests (`open_carrier`).
    """

    def __init__(
        self, world: MPI.Intracomm, order: Order, *, drop: Callable[[], bool] = lambda: False
    ) -> None:
        """Check and find the input, and let the job prepare itself."""
        # A communicator of our own: the caller's messages and ours cannot meet.
        self._world = world.Dup()
        self._order = order
        self._sources: list[Source] = []  # on rank 0
        self._files: list[InputFile] = []  # on rank 0
        worker, kernel = Worker(self._world), kernel_for(order.job)
        Q = order.request.partitions

        def look() -> tuple[object, int, str | None]:
            check_output(order.output, order.overwrite, order.inputs)
            self._sources = discover(order.inputs)
            self._files = split(self._sources, at_least=1, **self._cutting())
            prepared = worker.run(lambda: kernel.prepare(self._files, Q))
            weight = sum(source.weight for source in self._sources)
            return prepared, weight, None if order.link_rate is None else SharedLink.create()

        if order.link_rate is not None:
            _check_one_host(world)
        prepared, self._weight, path = broadcast(self._world, look if world.rank == 0 else None)
        worker.run(lambda: kernel.adopt(prepared, Q))
        link = SharedLink(path, order.link_rate) if path is not None and order.link_rate else None
        if link is not None:
            barrier(self._world)
            # All have it open: nothing stays behind, however this ends.
            link.remove()
        # Only what a user says of the network is worth moving parts for.
        self._sites = None if order.topology is None else _find_sites(self._world, order.topology)
        # Where nothing is measured nothing tells which transport is the fastest.
        given = order.costs is not None and order.transport == AUTO
        transport = TRANSPORTS[0] if given else order.transport
        carriers = open_carriers(
            self._world,
            transport,
            interface=order.interface,
            drop=drop,
            sites=self._sites,
        )
        self._tools = {
            carrier.name: Tools(worker, kernel, order.limits, link, carrier, order.progress)
            for carrier in carriers
        }
        self.profile = order.profile

    def __enter__(self) -> Session:
        """Return itself."""
        return self

    def __exit__(self, failed: type[BaseException] | None, *rest: object) -> None:
        """Let go of the communicator, unless this rank failed: the others would not follow it here."""
        tools = next(iter(self._tools.values()))  # all share worker and link
        tools.worker.close()
        if tools.link is not None:
            tools.link.close()
        for tools in self._tools.values():
            tools.carrier.close()
        if failed is None:
            self._world.Free()

    def synchronise(self) -> None:
        """Wait for all ranks."""
        barrier(self._world)

    def decide(self, request: Request) -> Decision:
        """Choose a plan for this world's ranks; the costs are measured unless they are given."""
        request = dataclasses.replace(request, ranks=self._world.size)
        machines = self.machines(request)

        def settle() -> Decision:
            decision = decide(request, machines)
            _LOG.info("plan: %s", decision.chosen)
            return decision

        return broadcast(self._world, settle if self._world.rank == 0 else None)

    def machines(self, request: Request | None = None) -> tuple[Machine, ...]:
        """Return what the planner should reckon with: given costs, a given profile, or measured ones.

        Measuring takes a small part of the job that is requested, where one is. Raises UsageError when a
        given profile says nothing of the transport.
        """
        order = self._order
        if order.costs is not None:
            return (Machine(order.costs),)
        if self.profile is None:
            self.profile = self.calibrate(request)
        machines = self.profile.machines(order.request.partitions)
        usable = tuple(machine for machine in machines if machine.transport in self._tools)
        if not usable:
            raise UsageError(
                f"the profile was measured with {', '.join(self.profile.networks)}, and this run uses "
                f"{', '.join(self._tools)}: calibrate again with --transport {order.transport}"
            )
        return usable

    def calibrate(self, request: Request | None = None) -> Profile:
        """Measure the costs of the job on this world: all, or as much as a request for its ranks is worth."""
        Q = self._order.request.partitions
        order = self._order

        def predict(profile: Profile) -> Candidate:
            assert request is not None
            return decide(request, profile.machines(Q)).chosen

        sample = OutputDirectory(order.output, f"{order.job_id}-sample", overwrite=False)
        profile = calibrate(
            self._world,
            self._tools,
            self._files,
            self._weight,
            Q,
            sample,
            predict=None if request is None else predict,
        )
        if self._world.rank == 0:
            _LOG.info("input: %s, about %s", counted(len(self._sources), "file"), bytes_text(self._weight))
            costs = profile.machines(Q)[0].costs
            _LOG.info("costs: c_m=%.4g c_s=%.4g c_r=%.4g s", costs.map, costs.shuffle, costs.reduce)
        return profile

    def execute(self, decision: Decision, output: OutputDirectory) -> RunReport | None:
        """Carry out the plan that was chosen and check that nothing was lost; return the report on rank 0.

        The parts are in the output's hidden directory then: commit or abandon it.
        """
        plan = decision.chosen.build()
        if self._order.limits.one_sender:
            plan = in_turns(plan)
        plan, placement = self._placed(plan)
        verification = verify(plan)
        batches = self._deal(plan.batches_of, [batch.share for batch in plan.batches])
        if self._world.rank == 0:
            output.prepare()
        barrier(self._world)
        overlap = decision.request.implementation == "parallel"
        tools = self._tools_for(decision)
        execution = Execution(self._world, plan, batches, tools, output, overlap=overlap)
        execution.run()
        ranks = gather(self._world, execution.count)
        if ranks is None:
            return None
        files = sum(map(len, batches.values()))
        conservation.check(plan, files, self._plain_bytes(), ranks)
        return RunReport(
            job_id=self._order.job_id,
            job=self._order.job_name,
            parameters=parameter_values(self._order.job),
            inputs=self._order.inputs,
            output=self._order.output,
            plan=plan,
            verification=verification,
            decision=decision,
            profile=self.profile,
            measured_now=self._order.profile is None,
            files=files,
            world=self._world.size,
            transport=tools.carrier.name,
            placement=placement,
            ranks=tuple(ranks),
        )

    def _tools_for(self, decision: Decision) -> Tools:
        """Return the tools of the transport that was measured; of the first one if any will do."""
        measured = decision.machine.transport
        return self._tools[measured] if measured else next(iter(self._tools.values()))

    def _placed(self, plan: Plan) -> tuple[Plan, Placement | None]:
        """Give the parts of a plan to the ranks that suit the network; without a topology, as numbered."""
        sites = self._sites
        if sites is None:
            return plan, None
        from coded_mr.topology import place

        placement = broadcast(self._world, (lambda: place(plan, sites)) if self._world.rank == 0 else None)
        return relabelled(plan, placement.ranks), placement

    def _plain_bytes(self) -> int | None:
        """Return the size of the input, where it is known without reading it."""
        compressed = any(source.compression for source in self._sources)
        return None if compressed else sum(source.size for source in self._sources)

    def _cutting(self) -> _Cutting:
        """Return how the job lets its input be cut."""
        job = self._order.job
        if isinstance(job, RecordJob):
            return {"whole_files": False, "record_bytes": job.record_bytes}
        return {"whole_files": job.whole_files, "record_bytes": None}

    def _deal(
        self, batches_of: Sequence[Sequence[int]], shares: Sequence[Fraction]
    ) -> dict[int, list[InputFile]]:
        """Return the files of the batches that this rank maps, on rank 0 those of all."""
        everything: dict[int, list[InputFile]] = {}

        def hands() -> Sequence[dict[int, list[InputFile]]]:
            everything.update(enumerate(deal(self._sources, shares, **self._cutting())))
            dealt = [{batch: everything[batch] for batch in mine} for mine in batches_of]
            return dealt + [{}] * (self._world.size - len(dealt))

        mine = scatter(self._world, hands if self._world.rank == 0 else None)
        return everything or mine


def _find_sites(world: MPI.Intracomm, topology: str) -> Sites:
    from coded_mr.engine.locating import find_sites

    return find_sites(world, topology)


def _check_one_host(world: MPI.Intracomm) -> None:
    if any(hosts_of(world)):
        raise UsageError("--link-rate emulates a link among ranks on one host, and these are on several")
