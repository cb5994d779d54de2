"""y = A x over MPI, from the first k coded rows that come back: `CodedMatrix`.

Rank 0 is the master and computes nothing; the other ranks are workers. Each gets its coded rows once; then
any number of x can be multiplied. The master decodes as soon as k rows are there, whoever sent them, and
cancels the rest, so workers that are slow or stopped (SIGSTOP) hold nothing up as long as the others have k
rows. Killed ranks are out of scope: `mpirun` ends the whole job when a rank dies.
Source: Kim, Park, Choi 2019 (arXiv 1904.09496).

    def work(matrix: CodedMatrix) -> object:      # runs on rank 0 only
        return [matrix.matvec(x) for x in many]

    results = with_coded_matrix(MPI.COMM_WORLD, A, work)     # on all ranks; A is read on rank 0
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from coded_mr.engine.waiting import broadcast, scatter
from coded_mr.errors import UsageError
from coded_mr.linear.allocation_rules import Allocation, Rule, tolerant, uncoded
from coded_mr.linear.arrays import real_matrix, real_operand
from coded_mr.linear.calls import Calls, serve
from coded_mr.linear.collecting import Coding, Collected, multiply
from coded_mr.linear.delays import Delay, linger

__all__ = ["CodedMatrix", "Product", "matvec", "prepared", "with_coded_matrix"]

T = TypeVar("T")
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


class CodedMatrix:
    """Hold a matrix in coded rows on the workers of a communicator, and multiply with it many times.

    Results differ from A @ x by at most `Collected.bound`, for every set of finishers.
    """

    def __init__(
        self,
        comm: MPI.Intracomm,
        A: object = None,
        *,
        rule: Rule | None = None,
        height: int | None = None,
        seed: int = 0,
        delay: Delay | None = None,
    ) -> None:
        """Share the coded rows; collective. All arguments but `comm` are read on rank 0 only.

        A       (p, q), float32, float64 or whole numbers, finite
        rule    which rows each worker holds; default: any one worker may be missing (`tolerant(1)`)
        height  rows of A that are coded together; default: as many as make 256 pieces of A
        delay   slows the workers down, for experiments

        Raises UsageError on every rank for a wrong argument, and for fewer than 2 ranks.
        """
        if comm.size < 2:
            raise UsageError(
                f"a coded matrix needs a master and a worker, 2 ranks, and there is {comm.size}: start more"
            )
        self._comm = comm.Dup()
        self._coding: Coding | None = None
        make = None if comm.rank else lambda: self._code(A, rule, height, seed)
        self.allocation: Allocation = prepared(self._comm, make)
        self._delay: Delay | None = broadcast(self._comm, None if comm.rank else lambda: delay)
        self._stored: Reals = scatter(self._comm, None if comm.rank else self._hands)
        self._calls = None if comm.rank else Calls(self._comm)
        self._closed = False

    @property
    def is_master(self) -> bool:
        """Return whether this rank is the master."""
        return self._calls is not None

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
        shape or type and for NaN or infinity, on a worker, and after `close`.
        """
        if self._calls is None or self._coding is None or self._closed:
            raise UsageError("a coded matrix multiplies on rank 0, before it is closed; workers serve()")
        given = real_operand(x, "x", self._coding.shape[1])
        started = time.perf_counter()
        collector, times = self._coding.collector(given), {}
        called = [worker for worker in self._calls.workers if self.allocation.loads[worker - 1]]
        epoch = self._calls.start(given, called)
        for answer in self._calls.answers(epoch):
            seconds, products = answer.value
            times[answer.worker - 1] = seconds
            if collector.add(answer.worker - 1, products):
                break
        self._calls.cancel(epoch)
        collected = collector.result()
        return Product(collected, time.perf_counter() - started, times)

    def serve(self) -> None:
        """Answer calls until the master closes; on a worker. Does nothing on rank 0."""
        if not self.is_master:
            serve(self._comm, self._answer)
            self._comm.Free()

    def close(self) -> None:
        """End the workers' `serve`; on rank 0. Waits for workers that are stopped to be continued."""
        if self._calls is not None and not self._closed:
            self._closed = True
            self._calls.close()
            self._comm.Free()

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


def prepared(comm: MPI.Intracomm, make: Callable[[], T] | None) -> T:
    """Return on all ranks what rank 0's `make` returned; raise there what UsageError it raised."""

    def attempt() -> tuple[T | None, UsageError | None]:
        assert make is not None
        try:
            return make(), None
        except UsageError as error:  # raised below, on all ranks alike
            return None, error

    value, error = broadcast(comm, None if make is None else attempt)
    if error is not None:
        comm.Free()
        raise error
    return value  # type: ignore[return-value]


def with_coded_matrix(
    comm: MPI.Intracomm, A: object, work: Callable[[CodedMatrix], T], **options: Any
) -> T | None:
    """Run `work` on rank 0 with a coded matrix that the other ranks serve; collective.

    Options are those of `CodedMatrix`. Returns what `work` returned on rank 0 and None elsewhere, when all
    ranks have ended with the matrix, also when `work` raises.
    """
    matrix = CodedMatrix(comm, A, **options)
    if not matrix.is_master:
        matrix.serve()
        return None
    try:
        return work(matrix)
    finally:
        matrix.close()


def matvec(comm: MPI.Intracomm, A: object, x: object, **options: Any) -> Reals | None:
    """Return A x on rank 0, None elsewhere; collective. Options are those of `CodedMatrix`.

    To multiply more than once, keep the matrix: `with_coded_matrix`.
    """
    return with_coded_matrix(comm, A, lambda matrix: matrix.matvec(x), **options)
