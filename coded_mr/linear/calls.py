"""Calls from a master to workers that may be slow or stopped: none of them can hold the master up.

Rank 0 sends calls and takes answers as they come; a call is point to point, never a collective, because a
stopped rank would stop that. Each call has an epoch: what answers an older one is discarded, and a worker
gives a call up when anything newer waits for it. At most two calls to a worker are without an answer, and one
more is kept for it, so that a worker that is stopped for long costs no memory.

Both sides need a communicator of their own. A rank that is killed is another matter: `mpirun` ends the job.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from coded_mr.engine.waiting import CHUNK, Backoff, wait

__all__ = ["Answer", "Calls", "serve"]

Raw = npt.NDArray[np.uint8]

_TAG = 11
_WINDOW = 2
_STOP, _CALL, _CANCEL = range(3)
# A header is (kind, epoch, bytes that follow).
_HEADER = 3


@dataclass(frozen=True)
class Answer:
    """Hold what a worker (a rank, 1 or more) answered to the call of an epoch."""

    worker: int
    epoch: int
    value: Any


class _Link:
    """Keep the state of one worker, seen from the master."""

    def __init__(self, comm: MPI.Comm, worker: int) -> None:
        self._comm, self.worker = comm, worker
        self._sending: deque[tuple[list[MPI.Request], list[npt.NDArray[Any]]]] = deque()
        self._open: set[int] = set()
        self._kept: tuple[int, Raw] | None = None
        self._body: tuple[list[MPI.Request], Raw] | None = None
        self._header = np.empty(_HEADER, dtype=np.int64)
        self._expected = comm.Irecv(self._header, worker, _TAG)
        self.ended = False

    def call(self, epoch: int, raw: Raw) -> None:
        """Send a call, or keep it, instead of an older one, until the worker has answered enough."""
        if len(self._open) < _WINDOW:
            self._open.add(epoch)
            self._send(_CALL, epoch, raw)
        else:
            self._kept = (epoch, raw)

    def cancel(self, epoch: int) -> None:
        """Tell the worker that an answer is no longer wanted, if it still owes one."""
        self._kept = None
        if epoch in self._open:
            self._send(_CANCEL, epoch)

    def stop(self) -> None:
        """Ask the worker to end."""
        self._kept = None
        self._send(_STOP, 0)

    def poll(self) -> Answer | None:
        """Return an answer that is complete, with a value or None for a call that was given up."""
        while self._sending and MPI.Request.Testall(self._sending[0][0]):
            self._sending.popleft()
        if self.ended:
            return None
        if self._body is None:
            if not self._expected.Test():
                return None
            kind, _, size = self._header.tolist()
            if kind == _STOP:
                self.ended = True
                return None
            self._body = _receive(self._comm, self.worker, size)
        requests, raw = self._body
        if not MPI.Request.Testall(requests):
            return None
        return self._answered(int(self._header[1]), raw)

    def _answered(self, epoch: int, raw: Raw) -> Answer:
        self._body = None
        self._open.discard(epoch)
        self._header = np.empty(_HEADER, dtype=np.int64)
        self._expected = self._comm.Irecv(self._header, self.worker, _TAG)
        if self._kept is not None:
            kept, self._kept = self._kept, None
            self.call(*kept)
        return Answer(self.worker, epoch, pickle.loads(raw.data) if raw.size else None)

    @property
    def sent(self) -> bool:
        """Return whether nothing is on its way to the worker."""
        return not self._sending

    def _send(self, kind: int, epoch: int, raw: Raw | None = None) -> None:
        self._sending.append(_send(self._comm, self.worker, kind, epoch, raw))


class Calls:
    """Be the master, rank 0: call workers, take answers, and end them with `close`."""

    def __init__(self, comm: MPI.Comm) -> None:
        """Start to listen; every other rank of the communicator runs `serve`."""
        self._links = {worker: _Link(comm, worker) for worker in range(1, comm.size)}
        self._epoch = 0

    @property
    def workers(self) -> tuple[int, ...]:
        """Return the ranks of the workers."""
        return tuple(self._links)

    def start(self, message: object, workers: Iterable[int]) -> int:
        """Send a message to workers and return the epoch of the call; the message may change afterwards."""
        self._epoch += 1
        raw = np.frombuffer(pickle.dumps(message, protocol=5), dtype=np.uint8)
        for worker in workers:
            self._links[worker].call(self._epoch, raw)
        return self._epoch

    def answers(self, epoch: int) -> Iterator[Answer]:
        """Yield answers to the call of this epoch as they arrive, without end; others are discarded."""
        backoff = Backoff()
        while True:
            found = self._poll()
            yield from (one for one in found if one.epoch == epoch and one.value is not None)
            if found:
                backoff.reset()
            backoff.pause()

    def cancel(self, epoch: int) -> None:
        """Free the workers that still work on the call."""
        for link in self._links.values():
            link.cancel(epoch)

    def close(self) -> None:
        """End all workers and wait for them; one that is stopped (SIGSTOP) must be continued for that."""
        for link in self._links.values():
            link.stop()
        backoff = Backoff()
        while not all(link.ended and link.sent for link in self._links.values()):
            self._poll()
            backoff.pause()

    def _poll(self) -> list[Answer]:
        return [found for link in self._links.values() if (found := link.poll()) is not None]


def serve(comm: MPI.Comm, answer: Callable[[int, Any, Callable[[], bool]], object]) -> None:
    """Be a worker: answer calls until the master closes.

    answer(epoch, message, unwanted) returns an object, or None when it gave up because unwanted() was true.
    """

    def unwanted() -> bool:
        return comm.Iprobe(0, _TAG)

    while True:
        kind, epoch, message = _next(comm)
        if kind == _CANCEL:
            continue
        if kind == _STOP:
            wait(_send(comm, 0, _STOP, 0)[0])
            return
        value = None if unwanted() else answer(epoch, pickle.loads(message.data), unwanted)
        raw = None if value is None else np.frombuffer(pickle.dumps(value, protocol=5), dtype=np.uint8)
        requests, _alive = _send(comm, 0, _CALL, epoch, raw)
        wait(requests)


def _next(comm: MPI.Comm) -> tuple[int, int, Raw]:
    """Wait for the master's next message."""
    header = np.empty(_HEADER, dtype=np.int64)
    wait([comm.Irecv(header, 0, _TAG)])
    kind, epoch, size = header.tolist()
    requests, raw = _receive(comm, 0, size)
    wait(requests)
    return kind, epoch, raw


def _send(
    comm: MPI.Comm, rank: int, kind: int, epoch: int, raw: Raw | None = None
) -> tuple[list[MPI.Request], list[npt.NDArray[Any]]]:
    """Start to send a header and what follows; the buffers returned must live until that is done."""
    body = np.empty(0, dtype=np.uint8) if raw is None else raw
    header = np.array([kind, epoch, body.size], dtype=np.int64)
    requests = [comm.Isend(header, rank, _TAG)]
    requests += [comm.Isend(body[at : at + CHUNK], rank, _TAG) for at in range(0, body.size, CHUNK)]
    return requests, [header, body]


def _receive(comm: MPI.Comm, rank: int, size: int) -> tuple[list[MPI.Request], Raw]:
    """Start to receive what follows a header."""
    raw = np.empty(size, dtype=np.uint8)
    return [comm.Irecv(raw[at : at + CHUNK], rank, _TAG) for at in range(0, size, CHUNK)], raw
