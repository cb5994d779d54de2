"""Small messages among ranks over MPI, joined: all that one rank has for another within a moment is one."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from mpi4py import MPI

from coded_mr.engine.multicast.direct import control_tag
from coded_mr.engine.multicast.transport import Array
from coded_mr.engine.waiting import Backoff

__all__ = ["Control", "Message"]

# Seconds for which a message waits for others to the same rank.
_DELAY = 0.02
_FRAME = struct.Struct("!BI")


@dataclass(frozen=True)
class Message:
    """Hold a message as it arrived."""

    source: int
    kind: int
    content: memoryview


@dataclass
class _Outbox:
    since: float = 0.0
    parts: list[bytes] = field(default_factory=list)


class Control:
    """Post messages of any size to ranks of a communicator, and get those that came.

    They use a tag above all that packets use. Messages between two ranks may overtake each other.
    """

    def __init__(self, world: MPI.Intracomm) -> None:
        """Start with nothing under way; nobody else may use the tag until `close` is through."""
        self._world = world
        self._tag = control_tag()
        self._outboxes: dict[int, _Outbox] = {}
        self._leaving: list[tuple[MPI.Request, Array]] = []
        self._coming: list[tuple[MPI.Request, int, Array]] = []
        self._sent = np.zeros(world.size, dtype=np.int64)
        self._got = np.zeros(world.size, dtype=np.int64)

    @property
    def leaving_bytes(self) -> int:
        """Return the bytes of messages that MPI has not taken over."""
        return sum(raw.size for _, raw in self._leaving)

    def post(self, rank: int, kind: int, content: bytes, *, now: bool = False) -> int:
        """Send a message soon, or at the next `flush`; return its bytes."""
        outbox = self._outboxes.setdefault(rank, _Outbox())
        if now:
            outbox.since = 0.0
        elif not outbox.parts:
            outbox.since = time.monotonic()
        outbox.parts += (_FRAME.pack(kind, len(content)), content)
        return _FRAME.size + len(content)

    def receive(self) -> Iterator[Message]:
        """Yield the messages that have come."""
        status = MPI.Status()
        while (found := self._world.Improbe(MPI.ANY_SOURCE, self._tag, status)) is not None:
            raw: Array = np.empty(status.Get_count(MPI.BYTE), dtype=np.uint8)
            self._coming.append((found.Irecv(raw), status.Get_source(), raw))
        waiting, self._coming = self._coming, []
        for entry in waiting:
            request, source, raw = entry
            if not request.Test():
                self._coming.append(entry)
                continue
            self._got[source] += 1
            yield from _messages(source, raw.data)

    def flush(self, *, everything: bool = False) -> None:
        """Send what has waited long enough, or everything."""
        self._leaving = [entry for entry in self._leaving if not entry[0].Test()]
        old = time.monotonic() - _DELAY
        for rank, outbox in list(self._outboxes.items()):
            if everything or outbox.since < old:
                raw = np.frombuffer(b"".join(outbox.parts), dtype=np.uint8)
                self._leaving.append((self._world.Isend(raw, rank, self._tag), raw))
                self._sent[rank] += 1
                del self._outboxes[rank]

    def close(self, go_on: Callable[[], object]) -> None:
        """Wait until all ranks are here and no message is under way; collective.

        `go_on` is called meanwhile, to serve those that are not here yet: it calls `receive` and `flush`.
        """
        self._until(self._world.Ibarrier(), go_on)
        self.flush(everything=True)
        # Everybody is through: what was posted before is all that ever comes.
        expected = np.empty_like(self._sent)
        self._until(self._world.Ialltoall(self._sent, expected), go_on)
        backoff = Backoff()
        while self._leaving or (self._got < expected).any():
            go_on()
            backoff.pause()

    def _until(self, request: MPI.Request, go_on: Callable[[], object]) -> None:
        backoff = Backoff()
        while not request.Test():
            go_on()
            backoff.pause()


def _messages(source: int, raw: memoryview) -> Iterator[Message]:
    start = 0
    while start < len(raw):
        kind, size = _FRAME.unpack_from(raw, start)
        start += _FRAME.size + size
        yield Message(source, kind, raw[start - size : start])
