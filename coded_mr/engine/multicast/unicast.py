"""The `unicast` transport: every packet goes to each of its receivers, point to point."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from mpi4py import MPI

from coded_mr.engine.multicast.link import SharedLink
from coded_mr.engine.multicast.transport import Array, Sent
from coded_mr.engine.waiting import CHUNK
from coded_mr.engine.window import Reserve, Steps
from coded_mr.plan.model import Packet

__all__ = ["UnicastTransport", "tag_count"]


def tag_count() -> int:
    """Return how many tags there are; MPI tells it of its first communicator only."""
    most = MPI.COMM_WORLD.Get_attr(MPI.TAG_UB)
    assert isinstance(most, int)
    return most


class UnicastTransport:
    """Send header and payload to each receiver, from the same buffers; no communicators are made.

    Packets are not coalesced: a receiver sizes a payload by its header, so what would be joined is not known
    when its receive is posted.
    """

    def __init__(self, world: MPI.Intracomm, *, chunk: int = CHUNK, link: SharedLink | None = None) -> None:
        """Bound a message by `chunk` bytes; `link` paces the senders, and carries every copy."""
        self._world = world
        self._chunk = chunk
        self._link = link
        # Packets between the same two ranks that are under way at once have different tags.
        self._tags = tag_count()

    def send(self, number: int, packet: Packet, header: bytes, payload: Array) -> Steps[Sent]:
        """Send the packet to every receiver."""
        wire = len(packet.receivers) * (payload.size + len(header))
        if self._link is not None:
            yield self._link.carries(wire)
        tag, raw = number % self._tags, np.frombuffer(header, dtype=np.uint8)
        yield [
            self._world.Isend(part, receiver, tag)
            for receiver in packet.receivers
            for part in (raw, *self._parts(payload))
        ]
        return Sent(wire)

    def receive(
        self, number: int, packet: Packet, header_size: int, payload_size: Callable[[Array], int]
    ) -> Steps[tuple[Array, Array]]:
        """Return the packet's header and payload."""
        header, tag = np.empty(header_size, dtype=np.uint8), number % self._tags
        yield [self._world.Irecv(header, packet.sender, tag)]
        size = payload_size(header)
        yield Reserve(size)
        payload = np.empty(size, dtype=np.uint8)
        yield [self._world.Irecv(part, packet.sender, tag) for part in self._parts(payload)]
        return header, payload

    def poll(self) -> bool:
        """Return False: MPI looks after everything."""
        return False

    def close(self, tick: Callable[[], bool]) -> None:
        """Do nothing: a packet's steps end when MPI has taken it over."""

    def _parts(self, payload: Array) -> list[Array]:
        return [payload[start : start + self._chunk] for start in range(0, payload.size, self._chunk)]
