"""y = A x over MPI, from the first k coded rows that come back: `CodedMatrix`.

Rank 0 is the master and computes nothing; the other ranks are workers. Each gets its coded rows once; then
any number of x can be multiplied. The master decodes as soon as k rows are there, whoever sent them, and
cancels the rest, so workers that are slow, stopped (SIGSTOP) or, where the MPI allows it, dead hold nothing
up as long as the others have k rows (`coded_mr.linear.losses`).
Source: Kim, Park, Choi 2019 (arXiv 1904.09496).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from coded_mr.engine.waiting import broadcast, scatter
from coded_mr.errors import UsageError
from coded_mr.linear.allocation_rules import Allocation, Rule, tolerant, uncoded
from coded_mr.linear.arrays import real_matrix, real_operand
from coded_mr.linear.collecting import Coding, Collected, Collector, multiply
from coded_mr.linear.delays import Delay, linger
from coded_mr.linear.losses import PATIENCE
from coded_mr.linear.served import Served

__all__ = ["CodedMatrix", "Product", "matvec"]

Reals = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Product:
    """Hold a product and how it came about.

    collected  y, who finished, and the bound on the error
    seconds    from the call until y was decoded
    times      seconds that each finisher (worker, from 0) took from its call to its answer
    """

    collected: Collected
    seconds: float
    times: dict[int, float]

    @property
    def y(self) -> Reals:
        """Return A x."""
        return self.collected.y


class CodedMatrix(Served):
    """Hold a matrix in coded rows on the workers of a communicator, and multiply with it many times.

    `coded_mr.linear.served` shows how it is used. Results differ from A @ x by at most `Collected.bound`, for
    every set of finishers.
    """

    def __init__(
        self,
        A: object = None,
        *,
        rule: Rule | None = None,
        height: int | None = None,
        seed: int = 0,
        delay: Delay | None = None,
        comm: MPI.Intracomm | None = None,
        patience: float = PATIENCE,
        limit: float | None = None,
    ) -> None:
        """Share the coded rows; collective. The first five arguments are read on rank 0 only.

        A         (p, q), float32, float64 or whole numbers, finite
        rule      which rows each worker holds; default: any one worker may be missing (`tolerant(1)`)
        height    rows of A that are coded together; default: as many as make 256 pieces of A
        delay     slows the workers down, for experiments
        comm      the ranks, by default all
        patience  seconds to wait at the end for workers that do not answer
        limit     seconds that a product may take; None: however long

        Raises UsageError on every rank for a wrong argument, and for fewer than 2 ranks.
        """
        super().__init__("a coded matrix", comm, patience, limit)
        self._coding: Coding | None = None
        with self._losses.no_death("the matrix was not yet stored: run again"):
            self.allocation: Allocation = self._prepared(lambda: self._code(A, rule, height, seed))
            self._delay: Delay | None = broadcast(self._comm, None if self._comm.rank else lambda: delay)
            self._stored: Reals = scatter(self._comm, None if self._comm.rank else self._hands)
            self._open()

    def _code(self, A: object, rule: Rule | None, height: int | None, seed: int) -> Allocation:
        workers = self._comm.size - 1
        chosen = rule or (tolerant(1) if workers > 1 else uncoded)
        self._coding = Coding(real_matrix(A, "A"), workers, chosen, height=height, seed=seed)
        return self._coding.allocation

    def _hands(self) -> list[Reals]:
        assert self._coding is not None
        rows = [self._coding.rows_of(worker) for worker in range(self._comm.size - 1)]
        self._coding.release()
        return [rows[0][:0], *rows]

    def matvec(self, x: object) -> Reals:
        """Return A x for x of shape (q,) or (q, m), on rank 0; see `product`."""
        return self.product(x).y

    def product(self, x: object) -> Product:
        """Return A x with how it came about; on rank 0, while the workers are in `serve`.

        Waits as long as workers that hold k rows have not answered. Raises UsageError, naming x, for a wrong
        shape or type and for NaN or infinity, on a worker, and after `close`; LostRankError when so many
        workers have died that the others hold fewer than k rows, and at the limit.
        """
        if self._calls is None or self._coding is None or self._closed:
            raise UsageError("a coded matrix multiplies on rank 0, before it is closed; workers serve()")
        given = real_operand(x, "x", self._coding.shape[1])
        started = time.perf_counter()
        collector, times = self._coding.collector(given), {}
        called = [worker for worker in self._calls.workers if self.allocation.loads[worker - 1]]
        epoch = self._calls.start(given, called)
        try:
            for answer in self._calls.answers(epoch):
                if answer.lost:
                    self._check_rows(collector)
                    continue
                seconds, products = answer.value
                times[answer.worker - 1] = seconds
                if collector.add(answer.worker - 1, products):
                    break
        finally:
            self._calls.cancel(epoch)
        collected = collector.result()
        return Product(collected, time.perf_counter() - started, times)

    def _check_rows(self, collector: Collector) -> None:
        """Raise LostRankError if the workers that live cannot bring enough rows."""
        living = set(range(self._comm.size - 1)) - {rank - 1 for rank in self.lost}
        held, k = collector.within_reach(living), self.allocation.k
        if held < k:
            raise self._refuse(
                f"the others hold {held} different rows, and {k} are needed; give the workers more rows, as"
                f" the rule tolerant:{len(self.lost)} does"
            )

    def _answer(self, epoch: int, x: Reals, unwanted: Callable[[], bool]) -> tuple[float, Reals] | None:
        """Return the seconds taken and this worker's rows times x."""
        started = time.perf_counter()
        worker = self._comm.rank - 1
        found = multiply(self._stored, x, [range(self._stored.shape[0])], unwanted)
        if self._delay is not None:
            load = self.allocation.loads[worker]
            seconds = self._delay.seconds(worker, epoch - 1, load, self.allocation.k)
            if not linger(started + seconds, unwanted):
                return None
        return None if found is None else (time.perf_counter() - started, found)


def matvec(A: object = None, x: object = None, **options: Any) -> Reals | None:
    """Return A x on rank 0, which has both; None elsewhere. Collective.

    Options are those of `CodedMatrix`, which is to be kept to multiply more than once, and where ranks may
    die: the program must end by its `end` then.
    """
    return CodedMatrix(A, **options).lead(lambda matrix: matrix.matvec(x))
