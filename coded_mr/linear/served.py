"""What products over the reals share: a matrix that rank 0 multiplies with and the other ranks serve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from mpi4py import MPI

from coded_mr.engine.waiting import barrier, broadcast
from coded_mr.errors import LostRankError, UsageError
from coded_mr.linear.calls import Calls, serve
from coded_mr.linear.losses import PATIENCE, Losses

__all__ = ["Served", "lead"]

T = TypeVar("T")


class Served:
    """Be rank 0, the master, or a rank that serves it.

    absent  when the matrix is closed: the ranks that are dead or did not answer; see `end`
    """

    def __init__(self, comm: MPI.Intracomm, what: str) -> None:
        """Take a communicator of our own; collective. Raises UsageError for fewer than 2 ranks."""
        if comm.size < 2:
            raise UsageError(
                f"{what} needs a master and a worker, 2 ranks, and there is {comm.size}: start more"
            )
        self._comm = comm.Dup()
        self._losses = Losses(self._comm)
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
            self._calls = Calls(self._comm, self._losses)

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

    def close(self, patience: float = PATIENCE) -> None:
        """End the workers' `serve`; on rank 0. Who does not answer in `patience` seconds is `absent`."""
        if self._calls is not None and not self._closed:
            self._closed = True
            self.absent = self._calls.close(patience)
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


def lead(matrix: Served, work: Callable[[], T], patience: float = PATIENCE) -> T | None:
    """Run `work` on rank 0 while the other ranks serve; collective.

    Returns what `work` returned on rank 0 and None elsewhere, when all ranks have ended with the matrix, also
    when `work` raises. Ranks may be `absent` then: the program must end by `Served.end`.
    """
    if not matrix.is_master:
        matrix.serve()
        return None
    try:
        result = work()
    except LostRankError:  # whoever is left must be ended with the program
        raise
    except BaseException:
        matrix.close(patience)
        raise
    matrix.close(patience)
    return result
