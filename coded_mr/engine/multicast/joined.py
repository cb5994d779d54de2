"""Small packets between ranks, joined: as many as there are, up to a limit, leave as one message."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from mpi4py import MPI

from coded_mr.engine.multicast.direct import joined_tag
from coded_mr.engine.multicast.frames import Outbox, frames
from coded_mr.engine.multicast.transport import Array
from coded_mr.engine.waiting import Backoff

__all__ = ["Joined"]

# A message leaves when it has so many bytes, at the latest.
_MESSAGE = 64 << 10
# Bytes for one rank that MPI has not taken over, beyond which packets wait.
_LEAVING = 4 * _MESSAGE


class Joined:
    """Post packets to ranks of a communicator, and get those that are expected.

    The next message of a rank is taken only while a packet of that rank is expected, so that a sender that is
    ahead is held up when `_LEAVING` bytes wait here. Who expects a packet takes everything before it: it is
    never held up by what its sender posted earlier.
    """

    def __init__(self, world: MPI.Intracomm) -> None:
        """Start with nothing under way."""
        self._world = world
        self._tag = joined_tag()
        self._filling: dict[int, Outbox] = {}
        self._leaving: dict[int, list[tuple[MPI.Request, Array]]] = {}
        self._posted = False
        self._expected: dict[int, set[int]] = {}
        self._coming: dict[int, tuple[MPI.Request, Array]] = {}
        self._arrived: dict[int, Array] = {}

    def has_room(self, rank: int) -> bool:
        """Tell whether a packet for that rank may be posted."""
        under_way = sum(raw.size for _, raw in self._leaving.get(rank, ()))
        return under_way < _LEAVING

    def post(self, rank: int, number: int, header: bytes, payload: Array, *, now: bool = False) -> None:
        """Send a packet with others to that rank: now, or when nothing more is posted, or they are enough."""
        outbox = self._filling.setdefault(rank, Outbox())
        outbox.add(number, header, payload)
        self._posted = True
        if now or outbox.size >= _MESSAGE:
            self._send(rank)

    def expect(self, rank: int, number: int) -> Callable[[], bool]:
        """Begin to wait for a packet of that rank; return what tells whether it is here."""
        if number not in self._arrived:
            self._expected.setdefault(rank, set()).add(number)
        return partial(self._arrived.__contains__, number)

    def take(self, number: int) -> Array:
        """Return the header and payload of a packet that is here, once."""
        return self._arrived.pop(number)

    def poll(self) -> bool:
        """Take what has come, and send what nothing has been added to since; tell whether anything moved."""
        self._let_go()
        moved = False
        # Who is behind anyway is not waited for: there may be more for it by then.
        for rank in [] if self._posted else list(filter(self.has_room, self._filling)):
            self._send(rank)
            moved = True
        self._posted = False
        for rank in list(self._expected):
            while rank in self._expected and self._receive(rank):
                moved = True
        return moved

    def close(self, tick: Callable[[], bool]) -> None:
        """Wait until everything that was posted has left; `tick` polls."""
        backoff = Backoff()
        while self._filling or self._leaving:
            if tick():
                backoff.reset()
            else:
                backoff.pause()

    def _send(self, rank: int) -> None:
        raw = self._filling.pop(rank).message()
        self._leaving.setdefault(rank, []).append((self._world.Isend(raw, rank, self._tag), raw))

    def _let_go(self) -> None:
        for rank, under_way in list(self._leaving.items()):
            under_way[:] = [entry for entry in under_way if not entry[0].Test()]
            if not under_way:
                del self._leaving[rank]

    def _receive(self, rank: int) -> bool:
        """Take the next message of a rank; tell whether it is here."""
        if rank not in self._coming:
            status = MPI.Status()
            found = self._world.Improbe(rank, self._tag, status)
            if found is None:
                return False
            raw: Array = np.empty(status.Get_count(MPI.BYTE), dtype=np.uint8)
            self._coming[rank] = found.Irecv(raw), raw
        request, raw = self._coming[rank]
        if not request.Test():
            return False
        del self._coming[rank]
        expected = self._expected[rank]
        for number, content in frames(raw):
            self._arrived[number] = content
            expected.discard(number)
        if not expected:
            del self._expected[rank]
        return True
