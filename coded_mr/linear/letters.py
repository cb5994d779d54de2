"""Small messages between rank 0 and the servers, each with the number of the job it belongs to.

A letter is a few 64-bit integers; its kind is the tag, its first number the job. What arrives after its job
is over is recognised by that number: nobody waits for a server that is late.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from itertools import chain

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from coded_mr.engine.waiting import CHUNK, wait
from coded_mr.linear.losses import Losses

__all__ = ["Kind", "Letter", "Letters", "receive_array", "send_array"]

# Above the tags that packets of the shuffle use on the same communicator.
_ARRAY_TAG = (1 << 14) + 1


class Kind(IntEnum):
    """Say what a letter is about."""

    READY = 1
    """A server asks for the vectors of a job."""
    VECTORS = 2
    """The vectors follow; numbers: how many, and whether rank 0 collects the outputs."""
    OVER = 3
    """The job is over: all are told, whether they have asked for it or not."""
    REFUSED = 4
    """Rank 0 refused the job's arguments: all are told; numbers: the reason, byte by byte."""
    DONE = 5
    """A server has mapped everything; number: nanoseconds that it took."""
    FINISHERS = 6
    """The job goes on with these servers; numbers: which attempt this is, then the servers."""
    RESULT = 7
    """A finisher's outputs follow; numbers: the attempt, then what it sent and received (see `reduction`)."""
    LEAVE = 8
    """A server has nothing more to do."""
    ABSENT = 9
    """The ranks that did not come to leave."""
    GONE = 10
    """A server has heard who is absent, and waits for nothing more."""


@dataclass(frozen=True)
class Letter:
    """Hold one letter that arrived."""

    source: int
    kind: Kind
    job: int
    numbers: tuple[int, ...]


class Letters:
    """Send and receive letters on a communicator that carries nothing else; the dead do not count."""

    def __init__(self, comm: MPI.Intracomm, losses: Losses) -> None:
        """Use the communicator."""
        self._comm = comm
        self._losses = losses
        self._under_way: dict[int, deque[list[MPI.Request]]] = {}

    def send(self, destination: int, kind: Kind, job: int, numbers: tuple[int, ...] = ()) -> None:
        """Send a letter without waiting for the receiver, who may have been stopped."""
        content = np.array([job, *numbers], dtype=np.int64)
        self._start(destination, lambda: [self._comm.Isend(content, destination, kind)])

    def send_array(self, comm: MPI.Intracomm, destination: int, array: npt.NDArray[np.generic]) -> None:
        """Send the bytes of an array on another communicator without waiting for the receiver."""
        self._start(destination, lambda: send_array(comm, destination, array))

    def _start(self, destination: int, send: Callable[[], list[MPI.Request]]) -> None:
        """Send, and keep what is under way, with the content, until it is complete."""
        before = self._under_way.setdefault(destination, deque())
        while before and self._sent(before[0]):
            before.popleft()
        try:
            before.append(send())
        except MPI.Exception as error:
            if not self._losses.caused(error):
                raise

    def flush(self) -> None:
        """Wait until all that was sent has left."""
        for sends in chain(*self._under_way.values()):
            wait(sends)
        self._under_way.clear()

    def _sent(self, sends: list[MPI.Request]) -> bool:
        try:
            return MPI.Request.Testall(sends)
        except MPI.Exception as error:
            if not self._losses.caused(error):
                raise
            return True  # to a rank that has died

    def take(self, source: int = MPI.ANY_SOURCE) -> Letter | None:
        """Return the next letter, None if there is none yet."""
        try:
            return self._take(source)
        except MPI.Exception as error:
            if not self._losses.caused(error):
                raise
            return None  # whoever wrote has died; `Losses.look` tells who it was

    def waiting(self, source: int) -> bool:
        """Return whether there is a letter from this rank."""
        return self._comm.Iprobe(source, MPI.ANY_TAG)

    def _take(self, source: int) -> Letter | None:
        status = MPI.Status()
        if not self._comm.Iprobe(source, MPI.ANY_TAG, status):
            return None
        content = np.empty(status.Get_count(MPI.INT64_T), dtype=np.int64)
        self._comm.Recv(content, status.source, status.tag)
        job, *numbers = content.tolist()
        return Letter(status.source, Kind(status.tag), job, tuple(numbers))


def send_array(comm: MPI.Intracomm, destination: int, array: npt.NDArray[np.generic]) -> list[MPI.Request]:
    """Start to send the bytes of an array; the requests keep it alive."""
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return [
        comm.Isend(raw[start : start + CHUNK], destination, _ARRAY_TAG) for start in range(0, raw.size, CHUNK)
    ]


def receive_array(comm: MPI.Intracomm, source: int, array: npt.NDArray[np.generic]) -> list[MPI.Request]:
    """Start to fill a contiguous array with the bytes that `send_array` sends."""
    raw = array.reshape(-1).view(np.uint8)
    return [comm.Irecv(raw[start : start + CHUNK], source, _ARRAY_TAG) for start in range(0, raw.size, CHUNK)]
