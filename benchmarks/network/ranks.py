"""One rank of a setting's MPI job: `python -m benchmarks.network.ranks TASK`, started on every host.

All rivals take turns in one job, so that what disturbs one disturbs all. Times begin after the start of MPI
and the opening of the transport, and include setting up the groups.
"""

from __future__ import annotations

import random
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from textwrap import indent
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from benchmarks.cluster import ClusterError
from benchmarks.network.ideal import busiest_link
from benchmarks.network.inputs import JOBS, check
from benchmarks.network.records import Link, Run, append
from benchmarks.network.settings import Rival
from benchmarks.network.task import Task
from coded_mr.engine.comparison import times_of
from coded_mr.engine.failing import abort
from coded_mr.engine.memory import give_back
from coded_mr.engine.multicast import AUTO
from coded_mr.engine.run_report import RunReport
from coded_mr.engine.runner import Order, Session
from coded_mr.engine.shuffle import Limits
from coded_mr.engine.waiting import barrier, broadcast, wait
from coded_mr.io.output import OutputDirectory
from coded_mr.jobfile import load_job
from coded_mr.plan.candidate import Candidate
from coded_mr.plan.planner import Decision, Request, decide

_COUNTER = Path("/sys/class/net/eth0/statistics/tx_bytes")
_LINK_SECONDS, _LINK_TAG = 0.5, 1


class _Way(NamedTuple):
    """Name what rivals can share a session for."""

    partitions: int
    transport: str
    one_sender: bool = False
    loss: float = 0.0


class _Ranks:
    """Carry out a task on this rank; all methods are collective over the world."""

    def __init__(self, world: MPI.Intracomm, task: Task, stack: ExitStack) -> None:
        self._world = world
        self._task = task
        self._stack = stack
        self._sessions: dict[_Way, Session] = {}
        self._planned: Decision | None = None
        host = world.Split_type(MPI.COMM_TYPE_SHARED)
        self._counts = host.rank == 0
        host.Free()

    def run(self) -> None:
        """Carry out what is due until the deadline; rank 0 says how far it is, and notes every run."""
        self._warm_up()
        if any(rival.scheme is None for _, rival in self._task.due):
            self._calibrate()
        self._note(Link(self._task.setting.title, self._link_rate()))
        for number, rival in self._task.due:
            if broadcast(self._world, lambda: time.time() > self._task.deadline):
                return
            if rival.scheme is None:
                way, decision = _Way(self._task.setting.hosts, AUTO), self._choice(rival.solvers)
            else:
                way = _Way(rival.solvers, rival.transport, rival.one_sender, rival.loss)
                decision = rival.decision()
            self._execute(number, rival, way, decision)

    def _execute(self, number: int, rival: Rival, way: _Way, decision: Decision) -> None:
        """Carry out one run, check its result and note it."""
        session = self._session(way)
        name = broadcast(self._world, lambda: f"{number}-{time.time_ns()}")
        output = OutputDirectory(str(Path(self._task.scratch) / "out"), name, overwrite=True)
        # As a run by itself: without the memory that the run before has left warm.
        give_back()
        before = self._sent()
        report = session.execute(decision, output)
        barrier(self._world)
        wire = self._sent() - before
        if report is not None:
            check(self._task.setting.job, output.temporary, self._task.expected, rival.name)
            output.abandon()
            self._note(self._measured(number, rival, way, report, wire))
        barrier(self._world)

    def _measured(self, number: int, rival: Rival, way: _Way, report: RunReport, wire: int) -> Run:
        setting, times = self._task.setting, times_of(report)
        traffic = [count.traffic for count in report.ranks]
        run = Run(
            setting=setting.title,
            rival=rival.name,
            round=number,
            plan=str(report.decision.chosen),
            transport=report.transport,
            predicted=self._predicted(report),
            total=times.total,
            map=times.map,
            shuffle=times.shuffle,
            reduce=times.reduce,
            encode=max(each.encode_seconds for each in traffic),
            decode=max(each.decode_seconds for each in traffic),
            groups=max(each.exposed_group_seconds for each in traffic),
            load=str(report.verification.load),
            busiest=str(busiest_link(report.plan, setting.network, setting.hosts)),
            coded=report.coded_bytes,
            intermediate=report.intermediate_bytes,
            wire=wire,
            repairs=sum(each.repairs for each in traffic),
        )
        if way.transport not in (AUTO, report.transport):
            raise ClusterError(f"{rival.name} went by {report.transport}, not by {way.transport}")
        print(
            f"  round {number}: {run.total:7.3f} s (map {run.map:.3f}, shuffle {run.shuffle:.3f}, reduce "
            f"{run.reduce:.3f}){self._foretold(report)}  {rival.name}"
            + (f": {run.plan}, {run.transport}" * (rival.scheme is None)),
            flush=True,
        )
        return run

    def _note(self, found: Link | Run) -> None:
        if self._world.rank == 0:
            append(Path(self._task.records), found)

    def _session(self, way: _Way) -> Session:
        """Return the session of a way, opened when it is first needed."""
        if way not in self._sessions:
            order = Order(
                job=load_job(str(JOBS[self._task.setting.job]))(),
                job_name=self._task.setting.job,
                inputs=self._task.inputs,
                output=str(Path(self._task.scratch) / "out"),
                request=Request(way.partitions, self._world.size),
                job_id="network",
                limits=Limits(one_sender=way.one_sender),
                transport=way.transport,
                overwrite=True,
            )
            dice = random.Random(self._world.rank)
            session = Session(self._world, order, drop=lambda: dice.random() < way.loss)
            self._sessions[way] = self._stack.enter_context(session)
        return self._sessions[way]

    def _predicted(self, report: RunReport) -> float | None:
        found = self._candidate(report)
        return None if found is None else float(found.total)

    def _foretold(self, report: RunReport) -> str:
        found = self._candidate(report)
        if found is None:
            return ""
        stages = ", ".join(
            f"{float(seconds):.3f}" for seconds in (found.t_map, found.t_shuffle, found.t_reduce)
        )
        return f" [predicted {float(found.total):.3f}: {stages}]"

    def _candidate(self, report: RunReport) -> Candidate | None:
        """Return what the planner thinks of the plan that was carried out, with its transport."""
        if self._planned is None:
            return None
        plan, way = report.decision.chosen, report.transport
        wanted = (plan.scheme, plan.r, plan.solvers, plan.helpers, way)
        for found in self._planned.considered:
            if (found.scheme, found.r, found.solvers, found.helpers, found.machine.transport) == wanted:
                return found
        return None

    def _choice(self, solvers: int) -> Decision:
        """Return what the planner chooses, of all plans and transports or of those with so many solvers."""
        assert self._planned is not None, "a planner's choice is due, so that there was a calibration"
        chosen = next(c for c in self._planned.considered if solvers in (0, c.solvers))
        return replace(self._planned, chosen=chosen)

    def _calibrate(self) -> None:
        """Plan by a calibration on this network."""
        Q = self._task.setting.hosts
        session = self._session(_Way(Q, AUTO))
        machines = session.machines()
        self._planned = broadcast(self._world, lambda: decide(Request(Q, self._world.size), machines))
        if session.profile is not None and self._world.rank == 0:
            print(indent(session.profile.summary(), "    "), flush=True)

    def _warm_up(self) -> None:
        """Connect every pair of ranks."""
        block = np.zeros(self._world.size, dtype=np.uint8)
        self._world.Alltoall(block, np.empty_like(block))

    def _link_rate(self) -> float:
        """Return the payload bytes a second from the first host to the second, by large messages."""
        size, seconds = 1 << 18, self._crossing(1 << 18)
        while seconds < _LINK_SECONDS:
            size *= 2
            seconds = self._crossing(size)
        return size / seconds

    def _crossing(self, size: int) -> float:
        """Return the seconds that a message takes from rank 0 to rank 1, with a word back."""
        world = self._world
        block, heard = np.zeros(size, dtype=np.uint8), np.zeros(1, dtype=np.uint8)
        barrier(world)
        started = time.perf_counter()
        if world.rank == 0:
            wait([world.Isend(block, 1, _LINK_TAG), world.Irecv(heard, 1, _LINK_TAG)])
        elif world.rank == 1:
            wait([world.Irecv(block, 0, _LINK_TAG)])
            wait([world.Isend(heard, 0, _LINK_TAG)])
        return broadcast(world, lambda: time.perf_counter() - started)

    def _sent(self) -> int:
        """Return the bytes that all hosts' interfaces have sent so far."""
        mine = int(_COUNTER.read_text()) if self._counts else 0
        return int(self._world.allreduce(mine))


def main(words: list[str]) -> int:
    """Take part as one rank."""
    world = MPI.COMM_WORLD
    try:
        with ExitStack() as stack:
            _Ranks(world, Task.load(words[0]), stack).run()
    except BaseException as error:  # whatever it is, the other ranks must not wait for this one
        abort(world, error)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
