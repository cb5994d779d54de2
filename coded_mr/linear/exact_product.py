"""Exact products Y = A X over GF(2^T) on K servers, of which the q that finish first are enough.

Li, Maddah-Ali, Avestimehr 2016 (arXiv 1609.01690). A is stored once, coded: rank 0 encodes and sends each
server its mu_bar m rows, which is less traffic than if each server read A and encoded for itself. Then every
server multiplies its rows by all vectors; rank 0 counts who is done; the first q exchange coded packets and
decode their share of the outputs.

A server that is slow or stopped (SIGSTOP) does not hold a job up, unless it is rank 0, or stops after it was
among the first q and before the job is over. One that dies does not either, at any time once A is stored, as
long as q are left, where the MPI lets the others go on (`coded_mr.linear.losses`): if it was among the first
q, these are chosen anew.
"""

from __future__ import annotations

from fractions import Fraction
from types import TracebackType
from typing import Any

from mpi4py import MPI

from coded_mr.engine.waiting import barrier
from coded_mr.errors import UsageError
from coded_mr.linear.encoding import encode_and_scatter
from coded_mr.linear.letters import Letters
from coded_mr.linear.losses import PATIENCE, Losses, check_seconds
from coded_mr.linear.roles import FieldProduct, Leader, Server, Site
from coded_mr.theory.straggling import Setting

__all__ = ["FieldMatrix", "FieldProduct", "matmul"]

_HOUR = 3600.0


class FieldMatrix:
    """Keep a coded matrix on the ranks of a communicator, for many products.

    Use as a context manager on every rank. All methods are called on every rank, but none waits for slow
    servers except the constructor and `close`.
    """

    def __init__(
        self,
        A: Any = None,
        *,
        storage: Fraction | int,
        finishers: int | None = None,
        bits: int | None = None,
        comm: MPI.Intracomm | None = None,
        kernel: str | None = None,
        patience: float = PATIENCE,
        limit: float | None = None,
    ) -> None:
        """Encode A, which rank 0 has and the other ranks leave out, and store it.

        storage    mu, the fraction of A's rows that a server may store, 1/K..1
        finishers  q, how many servers to wait for, ceil(1/mu)..K; by default the fewest
        bits       T: 8 or 16; by default what the type of A's elements has
        comm       the servers, by default all ranks; kernel  see `coded_mr.linear.codes.multiply`
        patience   seconds to wait at the end for servers that do not come
        limit      seconds that a product may take; None: however long

        A is a matrix of whole numbers 0..2^T - 1, or a `galois` array. Raises UsageError on every rank for
        anything else, and for servers or a code that cannot be.
        """
        world = MPI.COMM_WORLD if comm is None else comm
        setting = Setting(world.size, storage, 1)  # type: ignore[arg-type]
        point = setting.point(setting.fewest if finishers is None else finishers)
        self._patience, limit = check_seconds(patience, limit)
        # Communicators of our own: the caller's messages and ours cannot meet, nor letters and packets.
        self._losses = Losses(world)
        self._comm = self._losses.comm
        # Each death after which a shuffle begins again takes one more; after K - q deaths too few are left.
        attempts = world.size - point.q + 1 if self._losses.survives else 1
        with self._losses.no_death("the matrix was not yet stored: run again"):
            self._data = [world.Dup() for _ in range(attempts)]
            try:
                stored = encode_and_scatter(self._data[0], A, point, bits=bits, kernel=kernel)
            except UsageError:
                self._free()
                raise
        self._letters = Letters(self._comm, self._losses)
        site = Site(self._letters, self._data, self._losses, stored, setting.mu, point.q, kernel, limit)
        self._role = Server(site) if world.rank else Leader(site)
        self._job = -1
        self.shape = stored.shape
        self.absent: tuple[int, ...] = ()

    def __enter__(self) -> FieldMatrix:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close, unless this rank failed alone: the others would not follow it here."""
        if kind is None or issubclass(kind, UsageError):
            self.close()

    def multiply(self, X: Any = None, *, collect: bool = True, slow: float = 0.0) -> FieldProduct | None:
        """Return A X on rank 0; on the other ranks None, and soon if the job goes on without them.

        X        (columns of A,) or (columns of A, N), which rank 0 has and the other ranks leave out
        collect  False, on rank 0, leaves the outputs where they are decoded: a finisher gets a FieldProduct
                 of its own outputs; rank 0 too, of none if it did not finish
        slow     seconds by which this server begins its map late, to try stragglers out

        Raises UsageError on every rank for an X that does not fit; LostRankError on rank 0 when fewer than q
        servers live and at the limit, and on the others when rank 0 has died.
        """
        if not 0 <= slow <= _HOUR:
            raise UsageError(f"slow is {slow}: it must be a number of seconds, 0 to {_HOUR:.0f}")
        self._job += 1
        if isinstance(self._role, Leader):
            return self._role.multiply(self._job, X, collect, slow)
        return self._role.multiply(self._job, slow)

    def close(self) -> tuple[int, ...]:
        """Let go of the stored matrix, and return the ranks that did not come within the patience.

        They are dead or stopped. The program must then end by `end`. Returns the same on every rank that
        comes; `absent` keeps it.
        """
        if isinstance(self._role, Leader):
            self.absent = self._role.dismiss(self._job, self._patience)
        else:
            self.absent = self._role.leave(self._job)
        if not self.absent:
            with self._losses.no_death("the others cannot leave MPI as usual; all products are complete"):
                self._letters.flush()
                barrier(self._comm)
            self._free()
        return self.absent

    def end(self) -> None:
        """End the program, with status 0, if ranks are absent; on every rank, when all is written.

        The other ranks could not leave MPI as usual. Does nothing if nobody is absent.
        """
        self._losses.end(self.absent)

    def _free(self) -> None:
        for comm in (self._comm, *self._data):
            comm.Free()


def matmul(
    A: Any = None,
    X: Any = None,
    *,
    storage: Fraction | int,
    collect: bool = True,
    slow: float = 0.0,
    **options: Any,
) -> FieldProduct | None:
    """Return A X, once: see `FieldMatrix.multiply` for X, collect and slow, and `FieldMatrix` for the others.

    Ranks that are stopped all the time make this wait `patience` seconds at its end, and after that, as after
    a death, the program must end by `FieldMatrix.end`: use that class where ranks may stop or die.
    """
    with FieldMatrix(A, storage=storage, **options) as matrix:
        return matrix.multiply(X, collect=collect, slow=slow)
