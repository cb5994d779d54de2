"""Waiting that leaves the core to others, and objects sent in bounded messages.

A blocking MPI call spins. On a laptop with more ranks than cores that takes the time of those who work, so
every long wait here tests and sleeps; it ends with the job, because a rank that fails aborts all.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from mpi4py import MPI

__all__ = ["CHUNK", "Backoff", "barrier", "broadcast", "gather", "scatter", "wait"]

T = TypeVar("T")

# Largest single message: far below the 2 GiB of a C int, large enough that its cost is bandwidth.
CHUNK = 1 << 20

_TAG = 1

# Seconds for which a wait only gives up the core, and of its longest sleep.
_SPIN, _LONGEST = 1e-4, 1e-3


class Backoff:
    """Sleep for a part of the time in which nothing has happened, up to a millisecond.

    What comes at once is met at once, what takes long is met a little later, and is seldom asked for.
    """

    def __init__(self) -> None:
        """Start now, without any sleep."""
        self._since = time.monotonic()

    def reset(self) -> None:
        """Forget the idle time: something happened."""
        self._since = time.monotonic()

    def pause(self) -> None:
        """Give up the core; when nothing has happened for some time, for up to a millisecond."""
        idle = time.monotonic() - self._since
        time.sleep(0.0 if idle < _SPIN else min(idle / 4, _LONGEST))


def wait(requests: Sequence[MPI.Request]) -> None:
    """Wait for all requests without keeping a core busy."""
    pending = list(requests)
    backoff = Backoff()
    while not MPI.Request.Testall(pending):
        backoff.pause()


def barrier(comm: MPI.Comm) -> None:
    """Wait until every rank of the communicator is here."""
    wait([comm.Ibarrier()])


def broadcast(comm: MPI.Comm, make: Callable[[], T] | None = None) -> T:
    """Return on every rank what rank 0's `make` returned there."""
    raw = b""
    if comm.rank == 0:
        assert make is not None
        value = make()
        raw = pickle.dumps(value)
    size = np.array([len(raw)], dtype=np.int64)
    wait([comm.Ibcast(size)])
    buffer = (
        np.frombuffer(bytearray(raw), dtype=np.uint8)
        if comm.rank == 0
        else np.empty(int(size[0]), dtype=np.uint8)
    )
    for start in range(0, buffer.size, CHUNK):
        wait([comm.Ibcast(buffer[start : start + CHUNK])])
    return value if comm.rank == 0 else pickle.loads(buffer.data)


def gather(comm: MPI.Comm, value: T) -> list[T] | None:
    """Return every rank's value on rank 0, None elsewhere."""
    if comm.rank:
        _send(comm, 0, value)
        return None
    return [value, *(_receive(comm, source) for source in range(1, comm.size))]


def scatter(comm: MPI.Comm, make: Callable[[], Sequence[T]] | None = None) -> T:
    """Return on rank k the k-th of the values that rank 0's `make` returned."""
    if comm.rank:
        received: T = _receive(comm, 0)
        return received
    assert make is not None
    values = make()
    for rank in range(1, comm.size):
        _send(comm, rank, values[rank])
    return values[0]


def _send(comm: MPI.Comm, destination: int, value: object) -> None:
    raw = np.frombuffer(pickle.dumps(value), dtype=np.uint8)
    requests = [comm.Isend(np.array([raw.size], dtype=np.int64), destination, _TAG)]
    requests += [
        comm.Isend(raw[start : start + CHUNK], destination, _TAG) for start in range(0, raw.size, CHUNK)
    ]
    wait(requests)


def _receive(comm: MPI.Comm, source: int) -> T:  # type: ignore[type-var]
    size = np.empty(1, dtype=np.int64)
    wait([comm.Irecv(size, source, _TAG)])
    raw = np.empty(int(size[0]), dtype=np.uint8)
    wait([comm.Irecv(raw[start : start + CHUNK], source, _TAG) for start in range(0, raw.size, CHUNK)])
    value: T = pickle.loads(raw.data)
    return value
