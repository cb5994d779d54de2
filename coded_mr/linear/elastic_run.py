"""y = X w over MPI while machines come and go: `ElasticMatrix`.

Rank 0 is the master and computes nothing; machine n is rank n. Each machine gets its coded block once, and at
every step those that are available share the rows anew, in proportion to the speeds that were measured: no
stored data moves. A machine that goes away during a step holds it up, unless the margin S covers it; one that
is stopped (SIGSTOP) is like one that is away. Killed ranks are out of scope: `mpirun` ends the whole job.
Source: Woolsey, Chen, Ji 2020 (arXiv 2001.04005).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from coded_mr.engine.waiting import broadcast, scatter
from coded_mr.errors import PlanError, UsageError
from coded_mr.linear.arrays import real_matrix, real_operand
from coded_mr.linear.calls import Calls, serve
from coded_mr.linear.collecting import multiply
from coded_mr.linear.delays import Delay, linger
from coded_mr.linear.elastic_steps import Blocks, Settings, Work, speeds_of
from coded_mr.linear.real_product import prepared
from coded_mr.linear.traces import always
from coded_mr.theory.elastic import speeds_from_times

__all__ = ["ElasticMatrix", "Settings", "Step", "with_elastic_matrix"]

T = TypeVar("T")
Reals = npt.NDArray[np.floating[Any]]

_MOST_SKIPPED = 1000
_SKIP_SECONDS = 0.01


@dataclass(frozen=True)
class Step:
    """Hold the product of a step and how it came about.

    y          X w
    bound      no entry of y is expected to be off by more
    available  machines that were given; answered, those that took part before y could be decoded
    work       who was to compute what
    seconds    from the call until y was decoded
    """

    y: Reals
    bound: float
    available: tuple[int, ...]
    answered: tuple[int, ...]
    work: Work
    seconds: float


class ElasticMatrix:
    """Hold matrices in coded blocks on the machines of a communicator, and multiply with them step by step.

    speeds  estimates in blocks per second, of the machines that were measured
    steps   numbers of the trace that were used up; skipped  how many of them were infeasible
    """

    def __init__(
        self,
        comm: MPI.Intracomm,
        matrices: object = None,
        settings: Settings | None = None,
        *,
        delay: Delay | None = None,
    ) -> None:
        """Share the blocks; collective. All arguments but `comm` are read on rank 0 only.

        matrices  one matrix (p, q) or a list of several, such as [X, X.T]; float32, float64 or whole numbers
        settings  needed on rank 0; delay  slows machines down, for experiments

        Raises UsageError on every rank for a wrong argument, and for fewer than L machines.
        """
        if comm.size < 2:
            raise UsageError(
                f"an elastic matrix needs a master and a machine, 2 ranks, and there is {comm.size}:"
                " start more"
            )
        self._comm = comm.Dup()
        self.speeds: dict[int, Fraction] = {}
        self.steps = self.skipped = 0
        self._blocks: list[Blocks] = []
        hands: list[list[Reals]] = [[] for _ in range(comm.size)]
        prepared(self._comm, None if comm.rank else lambda: self._code(matrices, settings, hands))
        self._delay: Delay | None = broadcast(self._comm, None if comm.rank else lambda: delay)
        self._stored: list[Reals] = scatter(self._comm, None if comm.rank else lambda: hands)
        self._calls = None if comm.rank else Calls(self._comm)
        self._closed = False

    @property
    def is_master(self) -> bool:
        """Return whether this rank is the master."""
        return self._calls is not None

    @property
    def machines(self) -> tuple[int, ...]:
        """Return the numbers of all machines."""
        return tuple(range(1, self._comm.size))

    def _code(self, matrices: object, settings: Settings | None, hands: list[list[Reals]]) -> None:
        """Keep the settings, and fill in what each machine is to store."""
        if settings is None:
            raise UsageError("rank 0 must pass settings, such as Settings(L=2)")
        self._settings = settings
        self._trace = settings.trace or always(len(self.machines))
        given = list(matrices) if isinstance(matrices, (list, tuple)) else [matrices]
        for number, matrix in enumerate(given):
            X = real_matrix(matrix, f"matrices[{number}]" if len(given) > 1 else "X")
            blocks = Blocks(X, len(self.machines), settings.L, settings.policy, seed=settings.seed)
            self._blocks.append(blocks)
            for machine, block in zip(self.machines, blocks.stored(X), strict=True):
                hands[machine].append(block)

    def product(self, w: object, which: int = 0) -> Reals:
        """Return X w, by the next step of the trace; on rank 0. See `next_step`."""
        return self.next_step(w, which).y

    def next_step(self, w: object, which: int = 0) -> Step:
        """Return one product by the machines of the next step of the trace that is feasible; see `step`.

        Raises PlanError at an infeasible step, or skips it: `Settings.on_infeasible`.
        """
        for _ in range(_MOST_SKIPPED):
            available = self._trace(self.steps) if self.is_master else ()
            self.steps += 1
            try:
                return self.step(w, available, which)
            except PlanError:
                if self._settings.on_infeasible == "raise":
                    raise
            self.skipped += 1
            time.sleep(_SKIP_SECONDS)
        raise PlanError(
            f"{_MOST_SKIPPED} steps of the trace in a row had too few machines for L = {self._settings.L} and"
            f" S = {self._settings.margin}: make more of them available"
        )

    def step(self, w: object, available: Iterable[int], which: int = 0) -> Step:
        """Return one product with matrix number `which` by these machines; on rank 0.

        Waits for every row from L of its machines, so at most S of them may be away without the master's
        knowledge. Raises PlanError, before anything is sent, when the machines cannot compute every row;
        UsageError for a wrong w or unknown machines, on other ranks, and after `close`.
        """
        if self._calls is None or self._closed:
            raise UsageError("an elastic matrix multiplies on rank 0, before it is closed; machines serve()")
        if not 0 <= which < len(self._blocks):
            raise UsageError(f"which is {which}: the matrices are 0..{len(self._blocks) - 1}")
        blocks = self._blocks[which]
        given = real_operand(w, "w", blocks.shape[1])
        here = tuple(sorted(set(available)))
        if unknown := set(here).difference(self.machines):
            raise UsageError(f"available names {sorted(unknown)}: the machines are 1..{len(self.machines)}")
        work = blocks.work(speeds_of(self.speeds, here), self._settings.margin)
        started = time.perf_counter()
        gathered = blocks.gather(work, given)
        ranges = {machine: span for machine in here if (span := work.ranges(machine))}
        epoch = self._calls.start((which, ranges, given), ranges)
        times = {}
        for answer in self._calls.answers(epoch):
            times[answer.worker], products = answer.value
            if gathered.add(answer.worker, products):
                break
        self._calls.cancel(epoch)
        done = {machine: work.fraction(machine) for machine in times}
        self.speeds = speeds_from_times(self.speeds, done, times, self._settings.keep)
        y, bound = gathered.result()
        return Step(y, bound, here, tuple(times), work, time.perf_counter() - started)

    def serve(self) -> None:
        """Answer steps until the master closes; on a machine. Does nothing on rank 0."""
        if not self.is_master:
            serve(self._comm, self._answer)
            self._comm.Free()

    def close(self) -> None:
        """End the machines' `serve`; on rank 0. Waits for machines that are stopped to be continued."""
        if self._calls is not None and not self._closed:
            self._closed = True
            self._calls.close()
            self._comm.Free()

    def _answer(
        self,
        epoch: int,
        message: tuple[int, dict[int, tuple[range, ...]], Reals],
        unwanted: Callable[[], bool],
    ) -> tuple[float, Reals] | None:
        """Return the seconds taken and the asked rows of this machine's block times w."""
        started = time.perf_counter()
        which, ranges, w = message
        stored, mine = self._stored[which], ranges[self._comm.rank]
        found = multiply(stored, w, mine, unwanted)
        if self._delay is not None:
            load = sum(map(len, mine))
            seconds = self._delay.seconds(self._comm.rank - 1, epoch - 1, load, stored.shape[0])
            if not linger(started + seconds, unwanted):
                return None
        return None if found is None else (time.perf_counter() - started, found)


def with_elastic_matrix(
    comm: MPI.Intracomm,
    matrices: object,
    settings: Settings | None,
    work: Callable[[ElasticMatrix], T],
    **options: Any,
) -> T | None:
    """Run `work` on rank 0 with an elastic matrix that the other ranks serve; collective.

    Options are those of `ElasticMatrix`. Returns what `work` returned on rank 0 and None elsewhere, when all
    ranks have ended with the matrix, also when `work` raises.
    """
    matrix = ElasticMatrix(comm, matrices, settings, **options)
    if not matrix.is_master:
        matrix.serve()
        return None
    try:
        return work(matrix)
    finally:
        matrix.close()
