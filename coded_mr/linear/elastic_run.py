"""y = X w over MPI while machines come and go: `ElasticMatrix`.

Rank 0 is the master and computes nothing; machine n is rank n. Each machine gets its coded block once, and at
every step those that are available share the rows anew, in proportion to the speeds that were measured: no
stored data moves. A machine that goes away during a step holds it up, unless the margin S covers it; one that
is stopped (SIGSTOP) is like one that is away. Where the MPI allows it (`coded_mr.linear.losses`), one that
dies uses up a part of the margin; if that is not enough, the step is assigned anew to the others.
Source: Woolsey, Chen, Ji 2020 (arXiv 2001.04005).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from coded_mr.engine.waiting import broadcast, scatter
from coded_mr.errors import PlanError, UsageError
from coded_mr.linear.arrays import real_matrix, real_operand
from coded_mr.linear.calls import Calls
from coded_mr.linear.collecting import multiply
from coded_mr.linear.delays import Delay, linger
from coded_mr.linear.elastic_steps import Blocks, ElasticSettings, Work, speeds_of
from coded_mr.linear.losses import PATIENCE
from coded_mr.linear.preemption import Preemption
from coded_mr.linear.served import Served
from coded_mr.linear.traces import always
from coded_mr.theory.elastic import speeds_from_times

__all__ = ["ElasticMatrix", "ElasticSettings", "Step", "elastic"]

Reals = npt.NDArray[np.floating[Any]]

_MOST_SKIPPED = 1000
_SKIP_SECONDS = 0.01


@dataclass(frozen=True)
class Step:
    """Hold the product of a step and how it came about.

    y          X w
    bound      no entry of y is expected to be off by more
    available  machines that were given and lived; answered, those that took part before y could be decoded
    work       who was to compute what
    seconds    from the call until y was decoded
    """

    y: Reals
    bound: float
    available: tuple[int, ...]
    answered: tuple[int, ...]
    work: Work
    seconds: float


class ElasticMatrix(Served):
    """Hold matrices in coded blocks on the machines of a communicator, and multiply with them step by step.

    `coded_mr.linear.served` shows how it is used.

    speeds  estimates in blocks per second, of the machines that were measured
    steps   numbers of the trace that were used up; skipped  how many of them were infeasible
    """

    def __init__(
        self,
        matrices: object = None,
        settings: ElasticSettings | None = None,
        *,
        delay: Delay | None = None,
        comm: MPI.Intracomm | None = None,
        patience: float = PATIENCE,
        limit: float | None = None,
    ) -> None:
        """Share the blocks; collective. The first three arguments are read on rank 0 only.

        matrices  a matrix (p, q) or a list of several arrays, such as [X, X.T]; float32, float64 or whole
                  numbers
        settings  how steps are assigned; by default those of `ElasticSettings`
        delay     slows machines down, for experiments
        comm      the ranks, by default all
        patience  seconds to wait at the end for machines that do not answer
        limit     seconds that a step may take; None: however long

        Raises UsageError on every rank for a wrong argument, and for fewer than L machines.
        """
        super().__init__("an elastic matrix", comm, patience, limit)
        self.speeds: dict[int, Fraction] = {}
        self.steps = self.skipped = 0
        self._blocks: list[Blocks] = []
        hands: list[list[Reals]] = [[] for _ in range(self._comm.size)]
        with self._losses.no_death("the matrix was not yet stored: run again"):
            signals = self._prepared(lambda: self._code(matrices, settings or ElasticSettings(), hands))
            self._preemption = Preemption() if signals else None
            self._delay: Delay | None = broadcast(self._comm, None if self._comm.rank else lambda: delay)
            self._stored: list[Reals] = scatter(self._comm, None if self._comm.rank else lambda: hands)
            self._open()

    @property
    def machines(self) -> tuple[int, ...]:
        """Return the numbers of all machines."""
        return tuple(range(1, self._comm.size))

    def _code(self, matrices: object, settings: ElasticSettings, hands: list[list[Reals]]) -> bool:
        """Keep the settings, fill in what each machine is to store, and return whether signals count."""
        self._settings = settings
        self._trace = settings.trace or always(len(self.machines))
        given = [matrices]
        if isinstance(matrices, (list, tuple)) and matrices and getattr(matrices[0], "ndim", 0) == 2:
            given = list(matrices)
        for number, matrix in enumerate(given):
            X = real_matrix(matrix, f"matrices[{number}]" if len(given) > 1 else "X")
            blocks = Blocks(X, len(self.machines), settings.L, settings.policy, seed=settings.seed)
            self._blocks.append(blocks)
            for machine, block in zip(self.machines, blocks.stored(X), strict=True):
                hands[machine].append(block)
        return settings.signals

    def product(self, w: object, which: int = 0) -> Reals:
        """Return X w, by the next step of the trace; on rank 0. See `next_step`."""
        return self.next_step(w, which).y

    def all_steps(self, W: object, which: int = 0) -> tuple[Reals, list[Step]]:
        """Return X W and the steps that made it, one for each column of W (q, m), or one for W (q,).

        On rank 0; see `next_step`.
        """
        _, blocks = self._ready(which)
        given = real_operand(W, "W", blocks.shape[1])
        steps = [self.next_step(w, which) for w in (given.T if given.ndim == 2 else [given])]
        return (np.stack([step.y for step in steps], axis=1) if given.ndim == 2 else steps[0].y), steps

    def next_step(self, w: object, which: int = 0) -> Step:
        """Return one product by the machines of the next step of the trace that is feasible; see `step`.

        Raises PlanError at an infeasible step, or skips it: `ElasticSettings.on_infeasible`.
        """
        for _ in range(_MOST_SKIPPED):
            available = self._here(self.steps) if self.is_master else ()
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

    def _here(self, number: int) -> set[int]:
        """Return the machines of a step of the trace that have not been told to leave."""
        away = {machine for machine, gone in self._calls.notices.items() if gone} if self._calls else set()
        return set(self._trace(number)) - away

    def step(self, w: object, available: Iterable[int], which: int = 0) -> Step:
        """Return one product with matrix number `which` by these machines; on rank 0.

        Waits for every row from L of its machines, so at most S of them may be away without the master's
        knowledge; machines that died count among these S. Raises PlanError, before anything is sent, when the
        machines cannot compute every row; LostRankError when they could, but for those that died, and
        at the limit; UsageError for a wrong w or unknown machines, on other ranks, and after `close`.
        """
        calls, blocks = self._ready(which)
        given = real_operand(w, "w", blocks.shape[1])
        here = set(available)
        if unknown := here.difference(self.machines):
            raise UsageError(f"available names {sorted(unknown)}: the machines are 1..{len(self.machines)}")
        started = time.perf_counter()
        while True:
            found = self._attempt(calls, given, here, which, started)
            if found is not None:
                return found

    def _ready(self, which: int) -> tuple[Calls, Blocks]:
        """Return what multiplies, and the blocks of a matrix; raises UsageError where there are none."""
        if self._calls is None or self._closed:
            raise UsageError("an elastic matrix multiplies on rank 0, before it is closed; machines serve()")
        if not 0 <= which < len(self._blocks):
            raise UsageError(f"which is {which}: the matrices are 0..{len(self._blocks) - 1}")
        return self._calls, self._blocks[which]

    def _attempt(
        self, calls: Calls, given: Reals, available: set[int], which: int, started: float
    ) -> Step | None:
        """Return the product by those of the machines that live; None when another death prevents it."""
        blocks, here = self._blocks[which], tuple(sorted(available - calls.lost))
        work = self._work(blocks, here, available & calls.lost)
        gathered = blocks.gather(work, given)
        ranges = {machine: span for machine in here if (span := work.ranges(machine))}
        epoch = calls.start((which, ranges, given), ranges)
        times = {}
        try:
            for answer in calls.answers(epoch):
                if answer.lost:
                    if not gathered.within_reach(set(here) - calls.lost):
                        return None
                    continue
                times[answer.worker], products = answer.value
                if gathered.add(answer.worker, products):
                    break
        finally:
            calls.cancel(epoch)
        done = {machine: work.fraction(machine) for machine in times}
        self.speeds = speeds_from_times(self.speeds, done, times, self._settings.keep)
        y, bound = gathered.result()
        return Step(y, bound, here, tuple(times), work, time.perf_counter() - started)

    def _work(self, blocks: Blocks, here: Sequence[int], dead: Collection[int]) -> Work:
        """Return who computes what; those that are known to be dead need not be allowed for once more."""
        margin = max(0, self._settings.margin - len(dead))
        try:
            return blocks.work(speeds_of(self.speeds, here), margin)
        except PlanError as error:
            hopeless = len(self.machines) - len(self.lost) < self._settings.L
            if not dead or (self._settings.on_infeasible == "skip" and not hopeless):
                raise
            raise self._refuse(f"{error}; start more machines, or choose a smaller L") from error

    def _notice(self) -> object:
        return None if self._preemption is None else self._preemption.news()

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


def elastic(
    X: object = None,
    W: object = None,
    settings: ElasticSettings | None = None,
    **options: Any,
) -> Reals | None:
    """Return X W on rank 0, which has both, one step for each column of W; None elsewhere. Collective.

    X  (p, q); W  (q, m), or (q,) for a single step. Settings and options are those of `ElasticMatrix`, which
    is to be kept for steps whose w depends on earlier ones, and where ranks may die: the program must end by
    its `end` then. Raises as that and its `next_step`, and UsageError on rank 0 for a W that does not fit.
    """
    return ElasticMatrix(X, settings, **options).lead(lambda matrix: matrix.all_steps(W)[0])
