"""Ranks that die, or stop for good, while the others work: noticed, named and left behind.

An MPI with fault tolerance (ULFM: Open MPI 5 whose mpirun was told `--with-ft ulfm`) lets the others go on;
with any other, the launcher ends the job when a rank dies. After a death only messages between two ranks can
be relied on, not collectives, and no rank can leave MPI as usual.
"""

from __future__ import annotations

import logging
import math
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from mpi4py import MPI

from coded_mr.engine.waiting import broadcast, gather
from coded_mr.errors import LostRankError, UsageError

__all__ = ["PATIENCE", "Deadline", "Losses", "check_seconds"]

PATIENCE = 10.0
"""Seconds to wait at the end for ranks that do not answer."""

_LOG = logging.getLogger("coded_mr")
_HOUR = 3600.0
_LAST_WORDS = 0.5  # seconds for the launcher to pass on what was written
_ENABLED = "OMPI_MCA_mpi_ft_enable"


@dataclass(frozen=True)
class _Place:
    """Say where a rank runs; ranks with the same `system` can see and end each other's processes."""

    host: str
    system: str
    pid: int


class Losses:
    """Know which ranks of a communicator have died.

    comm      a communicator of our own, of the same ranks
    survives  whether the MPI lets the others go on; if not, nobody is ever seen dead
    dead      the ranks that have died, as far as `look` has seen
    """

    def __init__(self, comm: MPI.Intracomm) -> None:
        """Learn where the ranks are; collective. Raises LostRankError when one dies meanwhile."""
        self.dead: frozenset[int] = frozenset()
        self.survives = _fault_tolerant(comm)
        self._places: list[_Place] = []
        with self.no_death("nothing was stored yet: run again"):
            self.comm = comm.Dup()
            places = gather(self.comm, _here())
            self._places = broadcast(self.comm, None if places is None else lambda: places)

    def look(self) -> bool:
        """Learn of deaths; return whether there are new ones."""
        if not self.survives:
            return False
        known, self.dead = self.dead, self._failed()
        if self.dead == known:
            return False
        self.comm.Ack_failed()
        if self.comm.rank == 0:
            _LOG.warning("%s died", self.names(self.dead - known))
        return True

    def _failed(self) -> frozenset[int]:
        """Return the ranks of which MPI says that they have died."""
        failed = self.comm.Get_failed()
        number = failed.Get_size()
        if not number:
            return frozenset()
        members = self.comm.Get_group()
        found = frozenset(failed.Translate_ranks(range(number), members))
        failed.Free()  # nobody else does, and this is asked a thousand times a second
        members.Free()
        return found

    def caused(self, error: MPI.Exception) -> bool:
        """Return whether a message failed because its other end has died."""
        kinds = (MPI.ERR_PROC_FAILED, MPI.ERR_PROC_FAILED_PENDING, MPI.ERR_IN_STATUS)
        return self.survives and error.Get_error_class() in kinds

    @contextmanager
    def no_death(self, what: str) -> Iterator[None]:
        """Raise LostRankError, saying what cannot go on, when a rank dies on whom this rank depends."""
        try:
            yield
        except MPI.Exception as error:
            if not self.caused(error):
                raise
            if self._places:
                self.look()
            raise LostRankError(f"{self.names(self.dead)} died, and {what}") from None

    def names(self, ranks: Iterable[int]) -> str:
        """Return the ranks with their hosts, for a message."""
        return ", ".join(f"rank {rank} on {self._places[rank].host}" for rank in sorted(ranks)) or "a rank"

    def process(self, rank: int) -> str:
        """Return which process a rank is, for a message."""
        return f"process {self._places[rank].pid} on {self._places[rank].host}"

    def end(self, absent: Iterable[int]) -> None:
        """End the program with status 0 if ranks are absent, dead or not answering; those are ended, too.

        Does nothing without any. To be called on every other rank, when all output is written: MPI cannot be
        left as usual while a rank does not leave it.
        """
        missing = set(absent)
        if not missing:
            return
        self.look()
        silent = missing - self.dead
        if silent and self.comm.rank == 0:
            _LOG.warning("no answer from %s: ended", self.names(silent))
        sys.stdout.flush()
        sys.stderr.flush()
        if not self.survives:
            if self.comm.rank == 0:
                # A launcher that is told to end everything forgets what it has yet to pass on.
                time.sleep(_LAST_WORDS)
                MPI.COMM_WORLD.Abort(0)
            time.sleep(_HOUR)
        for rank in silent:
            self._end_process(rank, missing)
        os._exit(0)

    def _end_process(self, rank: int, missing: set[int]) -> None:
        """End the process of a rank, from the first rank beside it."""
        place = self._places[rank]
        beside = [
            other
            for other, its in enumerate(self._places)
            if its.system == place.system and other not in missing
        ]
        if beside[:1] == [self.comm.rank]:
            with suppress(ProcessLookupError):
                os.kill(place.pid, signal.SIGKILL)
        elif not beside and self.comm.rank == 0:
            _LOG.warning(
                "no other rank is on its host: the launcher waits until somebody ends %s", self.process(rank)
            )
            sys.stderr.flush()


class Deadline:
    """Bound how long something is waited for."""

    def __init__(self, losses: Losses, limit: float | None) -> None:
        """Begin to count the seconds; None: there are any number of them."""
        self._losses, self._limit = losses, limit
        self._until = math.inf if limit is None else time.monotonic() + limit

    def check(self, waited_for: Callable[[], Iterable[int]]) -> None:
        """Raise LostRankError, which names the ranks that are waited for, when time is up."""
        if time.monotonic() > self._until:
            raise LostRankError(
                f"no answer in {self._limit:g} s from {self._losses.names(waited_for())}: stopped, out of"
                " reach, or still computing; see what they do, or raise this limit"
            )


def check_seconds(patience: float, limit: float | None) -> tuple[float, float | None]:
    """Return both; raises UsageError unless patience >= 0, finite, and limit > 0, or None."""
    if not 0 <= patience < math.inf:
        raise UsageError(f"patience is {patience}: it must be a number of seconds, 0 or more")
    if limit is not None and not 0 < limit < math.inf:
        raise UsageError(f"limit is {limit}: it must be a number of seconds above 0, or None for no limit")
    return patience, limit


def _fault_tolerant(comm: MPI.Intracomm) -> bool:
    """Return whether survivors of a death can go on: the library must be able to, and be told so."""
    if os.environ.get(_ENABLED, "").lower() not in ("1", "true"):
        return False
    try:
        comm.Ack_failed()
    except (NotImplementedError, AttributeError, MPI.Exception):
        return False
    return True


def _here() -> _Place:
    host = socket.gethostname()
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        system = f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        system = host
    return _Place(host, system, os.getpid())
