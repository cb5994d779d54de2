"""What products over the reals share: a matrix that rank 0 multiplies with and the other ranks serve.

with CodedMatrix(A) as matrix:       # on every rank; rank 0 has A
    if matrix.is_master:             # the others serve when they come to the end of the block
        ys = [matrix.matvec(x) for x in many]

ys = CodedMatrix(A).lead(lambda matrix: [matrix.matvec(x) for x in many])       # the same
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from mpi4py import MPI

from coded_mr.engine.waiting import barrier, broadcast
from coded_mr.errors import LostRankError, UsageError
from coded_mr.linear.calls import Calls, serve
from coded_mr.linear.losses import Losses, check_seconds

__all__ = ["Served"]

T = TypeVar("T")
S = TypeVar("S", bound="Served")


class Served:
    """Be rank 0, the master, or a rank that serves it.

    absent  when the matrix is closed: the ranks that are dead or did not answer; see `end`
    """

    def __init__(self, what: str, comm: MPI.Intracomm | None, patience: float, limit: float | None) -> None:
        """Take a communicator of our own; collective. Raises UsageError for fewer than 2 ranks.

        comm      the ranks, all of them by default
        patience  seconds that `close` waits for workers; limit  those that a product may take, None: any
        """
        world = MPI.COMM_WORLD if comm is None else comm
        if world.size < 2:
            raise UsageError(
                f"{what} needs a master and a worker, 2 ranks, and there is {world.size}: start more"
            )
        self._patience, self._limit = check_seconds(patience, limit)
        self._losses = Losses(world)
        self._comm = self._losses.comm
        self._calls: Calls | None = None
        self._closed = False
        self.absent: tuple[int, ...] = ()

    def _prepared(self, make: Callable[[], T]) -> T:
        """Return on all ranks what `make` returned on rank 0; raise there what UsageError it raised."""

        def attempt() -> tuple[T | None, UsageError | None]:
            try:
                return make(), None
            except UsageError as error:  # raised below, on all ranks alike
                return None, error

        value, error = broadcast(self._comm, None if self._comm.rank else attempt)
        if error is not None:
            self._comm.Free()
            raise error
        return value  # type: ignore[return-value]

    def _open(self) -> None:
        """Begin to listen to the workers, when all have what they store; collective."""
        barrier(self._comm)
        if self._comm.rank == 0:
            self._calls = Calls(self._comm, self._losses, self._limit)

    def __enter__(self: S) -> S:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close on rank 0, unless ranks were lost: those that are left must be ended with the program.

        On the others serve until then, unless this one failed alone.
        """
        if self.is_master:
            if kind is None or not issubclass(kind, LostRankError):
                self.close()
        elif kind is None:
            self.serve()

    def lead(self: S, work: Callable[[S], T]) -> T | None:
        """Run `work` with this matrix on rank 0 while the other ranks serve; collective.

        Returns what `work` returned on rank 0 and None elsewhere, when all ranks have ended with the matrix,
        also when `work` raises. Ranks may be `absent` then: the program must end by `end`.
        """
        with self:
            return work(self) if self.is_master else None

    @property
    def is_master(self) -> bool:
        """Return whether this rank is the master."""
        return self._comm.rank == 0

    @property
    def lost(self) -> frozenset[int]:
        """Return the ranks that have died, as far as rank 0 knows; none on other ranks."""
        return frozenset() if self._calls is None else self._calls.lost

    def serve(self) -> None:
        """Answer calls until the master closes; on a worker. Does nothing on rank 0."""
        if not self.is_master and not self._closed:
            self._closed = True
            self.absent = serve(self._comm, self._answer, self._losses, self._notice)
            self._free()

    def close(self) -> None:
        """End the workers' `serve`; on rank 0. Who does not answer within the patience is `absent`."""
        if self._calls is not None and not self._closed:
            self._closed = True
            self.absent = self._calls.close(self._patience)
            self._free()

    def end(self) -> None:
        """End the program, with status 0, if ranks are absent; on every rank, when all is written.

        The other ranks could not leave MPI as usual. Does nothing if nobody is absent.
        """
        self._losses.end(self.absent)

    def process(self, rank: int) -> str:
        """Return which process a rank is, for people: its number and host."""
        return self._losses.process(rank)

    def _free(self) -> None:
        if not self.absent:
            self._comm.Free()

    def _refuse(self, what: str) -> LostRankError:
        """Return the error for too many deaths."""
        return LostRankError(f"{self._losses.names(self.lost)} died: {what}")

    def _answer(self, epoch: int, message: Any, unwanted: Callable[[], bool]) -> object:
        """Compute what a call asks for; None when it is unwanted."""
        raise NotImplementedError

    def _notice(self) -> object:
        """Return what the master should hear now, if anything."""
        return None
