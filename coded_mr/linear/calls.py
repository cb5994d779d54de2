"""Calls from a master to workers that may be slow, stopped or dead: none of them can hold the master up.

Rank 0 sends calls and takes answers as they come; a call is point to point, never a collective, because a
stopped rank would stop that. Each call has an epoch: what answers an older one is discarded, and a worker
gives a call up when anything newer waits for it. At most two calls to a worker are without an answer, and one
more is kept for it, so that a worker that is stopped for long costs no memory. A worker that has died is
called no more, where the MPI lets the others go on (`coded_mr.linear.losses`).

Both sides need a communicator of their own.
"""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from coded_mr.engine.waiting import CHUNK, Backoff, wait
from coded_mr.linear.losses import PATIENCE, Deadline, Losses

__all__ = ["Answer", "Calls", "serve"]

T = TypeVar("T")
Raw = npt.NDArray[np.uint8]

_TAG = 11
_WINDOW = 2
# Either side may send a notice; the last two end a worker: both sides say STOP, then both say END.
_CALL, _CANCEL, _NOTICE, _STOP, _END = range(5)
# A header is (kind, epoch, bytes that follow).
_HEADER = 3


@dataclass(frozen=True)
class Answer:
    """Hold what a worker (a rank, 1 or more) answered to the call of an epoch, or that it is `lost`: dead."""

    worker: int
    epoch: int
    value: Any
    lost: bool = False


class _Link:
    """Keep the state of one worker, seen from the master.

    heard   the last of the two ends of a conversation, STOP or END, that the worker has sent
    notice  what the worker said last without being asked
    """

    def __init__(self, comm: MPI.Comm, worker: int) -> None:
        self._comm, self.worker = comm, worker
        self._sending: deque[tuple[list[MPI.Request], list[npt.NDArray[Any]]]] = deque()
        self._open: set[int] = set()
        self._kept: tuple[int, Raw] | None = None
        self._body: tuple[list[MPI.Request], Raw] | None = None
        self._expected: MPI.Request | None = None
        self._expect()
        self.heard: int | None = None
        self.notice: object = None

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

    def end(self, absent: Raw) -> None:
        """Tell a worker that has stopped who has not."""
        self._expect()
        self._send(_END, 0, absent)

    def poll(self) -> Answer | None:
        """Return an answer that is complete, with a value or None for a call that was given up."""
        while self._sending and MPI.Request.Testall(self._sending[0][0]):
            self._sending.popleft()
        if self._body is None:
            if self._expected is None or not self._expected.Test():
                return None
            kind, _, size = self._header.tolist()
            if kind in (_STOP, _END):
                self.heard, self._expected = kind, None
                return None
            self._body = _receive(self._comm, self.worker, size)
        requests, raw = self._body
        if not MPI.Request.Testall(requests):
            return None
        self._body = None
        kind, epoch, _ = self._header.tolist()
        self._expect()
        value = pickle.loads(raw.data) if raw.size else None
        if kind == _NOTICE:
            self.notice = value
            return None
        return self._answered(epoch, value)

    def _answered(self, epoch: int, value: object) -> Answer:
        self._open.discard(epoch)
        if self._kept is not None:
            kept, self._kept = self._kept, None
            self.call(*kept)
        return Answer(self.worker, epoch, value)

    def _expect(self) -> None:
        """Wait for the worker's next header."""
        self._header = np.empty(_HEADER, dtype=np.int64)
        self._expected = self._comm.Irecv(self._header, self.worker, _TAG)

    def owes(self, epoch: int) -> bool:
        """Return whether the worker has not answered the call of an epoch."""
        return epoch in self._open or (self._kept is not None and self._kept[0] == epoch)

    @property
    def sent(self) -> bool:
        """Return whether nothing is on its way to the worker."""
        return not self._sending

    def _send(self, kind: int, epoch: int, raw: Raw | None = None) -> None:
        self._sending.append(_send(self._comm, self.worker, kind, epoch, raw))


class Calls:
    """Be the master, rank 0: call workers, take answers, and end them with `close`.

    lost     the workers that have died
    notices  what workers said last without being asked, by worker
    """

    def __init__(self, comm: MPI.Comm, losses: Losses, limit: float | None = None) -> None:
        """Start to listen; every other rank of the communicator runs `serve`.

        limit  seconds within which the answers to a call must be enough; None: no matter how long
        """
        self._losses = losses
        self._limit = limit
        self._links = {worker: _Link(comm, worker) for worker in range(1, comm.size)}
        self._epoch = 0
        self.lost: frozenset[int] = frozenset()

    @property
    def workers(self) -> tuple[int, ...]:
        """Return the ranks of the workers, of the dead too."""
        return tuple(self._links)

    @property
    def notices(self) -> dict[int, Any]:
        """Return what workers have said by now without being asked."""
        self._poll()
        return {worker: link.notice for worker, link in self._links.items() if link.notice is not None}

    def start(self, message: object, workers: Iterable[int]) -> int:
        """Send a message to workers and return the epoch of the call; the message may change afterwards."""
        self._epoch += 1
        raw = np.frombuffer(pickle.dumps(message, protocol=5), dtype=np.uint8)
        for worker in workers:
            self._try(self._links[worker], lambda link: link.call(self._epoch, raw))
        return self._epoch

    def answers(self, epoch: int) -> Iterator[Answer]:
        """Yield answers to the call of this epoch as they arrive, without end; others are discarded.

        A worker that dies, or has died before, is among them, as `lost`. Raises LostRankError, naming those
        that owe an answer, when more are wanted after the limit.
        """
        backoff, until = Backoff(), Deadline(self._losses, self._limit)
        told: frozenset[int] = frozenset()
        while True:
            found = self._poll()
            yield from (one for one in found if one.epoch == epoch and one.value is not None)
            lost, told = self.lost - told, self.lost
            yield from (Answer(worker, epoch, None, lost=True) for worker in sorted(lost))
            until.check(lambda: (worker for worker, link in self._links.items() if link.owes(epoch)))
            if found:
                backoff.reset()
            backoff.pause()

    def cancel(self, epoch: int) -> None:
        """Free the workers that still work on the call."""
        for link in self._links.values():
            self._try(link, lambda link: link.cancel(epoch))

    def close(self, patience: float = PATIENCE) -> tuple[int, ...]:
        """End all workers; return those that are dead or have not answered within `patience` seconds."""
        until = time.monotonic() + patience
        for link in self._links.values():
            self._try(link, _Link.stop)
        self._wait(_STOP, until)
        absent = tuple(worker for worker, link in self._links.items() if link.heard != _STOP)
        raw = np.frombuffer(pickle.dumps(absent), dtype=np.uint8)
        for worker in set(self._links).difference(absent):
            self._try(self._links[worker], lambda link: link.end(raw))
        self._wait(_END, time.monotonic() + patience, absent)
        return absent

    def _wait(self, kind: int, until: float, absent: Iterable[int] = ()) -> None:
        """Wait until all workers but those absent have said it and heard all, or time is up."""
        backoff = Backoff()
        ignored = frozenset(absent)
        while time.monotonic() < until:
            self._poll()
            waited = [link for worker, link in self._links.items() if worker not in self.lost | ignored]
            if all(link.heard == kind and link.sent for link in waited):
                return
            backoff.pause()

    def _poll(self) -> list[Answer]:
        if self._losses.look():
            self.lost |= self._losses.dead
        found = (self._try(link, _Link.poll) for link in self._links.values())
        return [answer for answer in found if answer is not None]

    def _try(self, link: _Link, act: Callable[[_Link], T]) -> T | None:
        """Do something with a worker unless it has died."""
        if link.worker in self.lost:
            return None
        try:
            return act(link)
        except MPI.Exception as error:
            if not self._losses.caused(error):
                raise
            self.lost |= {link.worker}
            return None


def serve(
    comm: MPI.Comm,
    answer: Callable[[int, Any, Callable[[], bool]], object],
    losses: Losses,
    notice: Callable[[], object] = lambda: None,
) -> tuple[int, ...]:
    """Be a worker: answer calls until the master closes; return the workers that did not come so far.

    answer(epoch, message, unwanted) returns an object, or None when it gave up because unwanted() was true.
    notice() returns what the master should know without having asked, None most of the time. Raises
    LostRankError when the master has died.
    """

    def unwanted() -> bool:
        return comm.Iprobe(0, _TAG)

    def tell(kind: int, epoch: int = 0, value: object = None) -> None:
        raw = None if value is None else np.frombuffer(pickle.dumps(value, protocol=5), dtype=np.uint8)
        requests, _alive = _send(comm, 0, kind, epoch, raw)
        wait(requests)

    def idle() -> None:
        if (said := notice()) is not None:
            tell(_NOTICE, 0, said)

    with losses.no_death("it was the master: nothing can be computed without it; run again"):
        while True:
            kind, epoch, message = _next(comm, idle)
            if kind == _CALL:
                idle()
                value = None if unwanted() else answer(epoch, pickle.loads(message.data), unwanted)
                idle()
                tell(_CALL, epoch, value)
            elif kind in (_STOP, _END):
                tell(kind)
            if kind == _END:
                absent: tuple[int, ...] = pickle.loads(message.data)
                return absent


def _next(comm: MPI.Comm, idle: Callable[[], None]) -> tuple[int, int, Raw]:
    """Wait for the master's next message."""
    header = np.empty(_HEADER, dtype=np.int64)
    expected, backoff = comm.Irecv(header, 0, _TAG), Backoff()
    while not expected.Test():
        idle()
        backoff.pause()
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
