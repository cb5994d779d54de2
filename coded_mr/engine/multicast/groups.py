"""The `groups` transport: a broadcast over the communicator of S, entered at one of its members."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from mpi4py import MPI

from coded_mr.engine.groups import Groups
from coded_mr.engine.multicast.link import SharedLink
from coded_mr.engine.multicast.transport import Array, Sent
from coded_mr.engine.multicast.unicast import tag_count
from coded_mr.engine.waiting import CHUNK
from coded_mr.engine.window import POSTED, Reserve, Steps
from coded_mr.plan.model import Packet

__all__ = ["GroupTransport"]


class GroupTransport:
    """Send a packet to one member of its group S, which broadcasts it over the communicator of S.

    The member where packets enter rotates with the packet's number. A payload travels in chunks; each is
    passed on as it comes. All members of S post its broadcasts in the order of the schedule, as MPI demands:
    a receiver says when it has posted its last one, and its next packet on that communicator waits for it.
    """

    def __init__(
        self, world: MPI.Intracomm, groups: Groups, *, chunk: int = CHUNK, link: SharedLink | None = None
    ) -> None:
        """Use the groups of one epoch; `chunk` bounds a message, in bytes; `link` paces the senders."""
        self._world = world
        self._groups = groups
        self._chunk = chunk
        self._link = link
        # Packets between the same two ranks that are under way at once have different tags.
        self._tags = tag_count()

    def send(self, number: int, packet: Packet, header: bytes, payload: Array) -> Steps[Sent]:
        """Send the packet's header and payload to the member where it enters its group."""
        if self._link is not None:
            yield self._link.carries(payload.size + len(header))
        entry, tag = _entry(number, packet), number % self._tags
        requests = [self._world.Isend(np.frombuffer(header, dtype=np.uint8), entry, tag)]
        requests += [self._world.Isend(part, entry, tag) for part in self._parts(payload)]
        yield requests
        return Sent(len(packet.receivers) * (payload.size + len(header)))

    def receive(
        self, number: int, packet: Packet, header_size: int, payload_size: Callable[[Array], int]
    ) -> Steps[tuple[Array, Array]]:
        """Return the packet's header and payload; `payload_size` tells the latter's size."""
        header = np.empty(header_size, dtype=np.uint8)
        if len(packet.receivers) == 1:
            payload = yield from self._take(number, packet, header, payload_size)
        elif _entry(number, packet) == self._world.rank:
            payload = yield from self._pass_on(number, packet, header, payload_size)
        else:
            payload = yield from self._listen(number, packet, header, payload_size)
        return header, payload

    def _take(
        self, number: int, packet: Packet, header: Array, payload_size: Callable[[Array], int]
    ) -> Steps[Array]:
        sender, tag = packet.sender, number % self._tags
        yield [self._world.Irecv(header, sender, tag)]
        payload = yield from _reserved(payload_size(header))
        yield [self._world.Irecv(part, sender, tag) for part in self._parts(payload)]
        return payload

    def _pass_on(
        self, number: int, packet: Packet, header: Array, payload_size: Callable[[Array], int]
    ) -> Steps[Array]:
        comm, sender, tag = self._groups[packet.receivers], packet.sender, number % self._tags
        yield [self._world.Irecv(header, sender, tag)]
        passed = [comm.Ibcast(header, comm.rank)]
        payload = yield from _reserved(payload_size(header))
        parts = self._parts(payload)
        arriving = [self._world.Irecv(part, sender, tag) for part in parts]
        for part, request in zip(parts, arriving, strict=True):
            yield [request]
            passed.append(comm.Ibcast(part, comm.rank))
        yield POSTED
        yield passed
        return payload

    def _listen(
        self, number: int, packet: Packet, header: Array, payload_size: Callable[[Array], int]
    ) -> Steps[Array]:
        comm = self._groups[packet.receivers]
        root = packet.receivers.index(_entry(number, packet))
        yield [comm.Ibcast(header, root)]
        payload = yield from _reserved(payload_size(header))
        requests = [comm.Ibcast(part, root) for part in self._parts(payload)]
        yield POSTED
        yield requests
        return payload

    def poll(self) -> bool:
        """Return False: MPI looks after everything."""
        return False

    def close(self, tick: Callable[[], bool]) -> None:
        """Do nothing: a packet's steps end when MPI has taken it over."""

    def _parts(self, payload: Array) -> list[Array]:
        return [payload[start : start + self._chunk] for start in range(0, payload.size, self._chunk)]


def _entry(number: int, packet: Packet) -> int:
    """Return the member of the group where the packet enters."""
    return packet.receivers[number % len(packet.receivers)]


def _reserved(size: int) -> Steps[Array]:
    yield Reserve(size)
    return np.empty(size, dtype=np.uint8)
