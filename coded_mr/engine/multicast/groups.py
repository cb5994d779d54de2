"""The `groups` transport: a broadcast over the communicator of S, entered at one of its members."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from mpi4py import MPI

from coded_mr.engine.groups import Groups
from coded_mr.engine.multicast.direct import Direct
from coded_mr.engine.multicast.link import SharedLink, paced
from coded_mr.engine.multicast.transport import Array, Sent
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
        self._rank = world.rank
        self._groups = groups
        self._direct = Direct(world, chunk)
        self._link = link

    def send(self, number: int, packet: Packet, header: bytes, payload: Array) -> Steps[Sent]:
        """Send the packet's header and payload to the member where it enters its group."""
        yield from paced(self._link, payload.size + len(header))
        entry = _entry(number, packet)
        parts = np.frombuffer(header, dtype=np.uint8), *self._direct.parts(payload)
        yield [self._direct.send(part, entry, number) for part in parts]
        return Sent(len(packet.receivers) * (payload.size + len(header)))

    def receive(
        self, number: int, packet: Packet, header_size: int, payload_size: Callable[[Array], int]
    ) -> Steps[tuple[Array, Array]]:
        """Return the packet's header and payload; `payload_size` tells the latter's size."""
        header = np.empty(header_size, dtype=np.uint8)
        if len(packet.receivers) == 1:
            payload = yield from self._take(number, packet, header, payload_size)
        elif _entry(number, packet) == self._rank:
            payload = yield from self._pass_on(number, packet, header, payload_size)
        else:
            payload = yield from self._listen(number, packet, header, payload_size)
        return header, payload

    def _take(
        self, number: int, packet: Packet, header: Array, payload_size: Callable[[Array], int]
    ) -> Steps[Array]:
        direct, sender = self._direct, packet.sender
        yield [direct.receive(header, sender, number)]
        payload = yield from _reserved(payload_size(header))
        yield [direct.receive(part, sender, number) for part in direct.parts(payload)]
        return payload

    def _pass_on(
        self, number: int, packet: Packet, header: Array, payload_size: Callable[[Array], int]
    ) -> Steps[Array]:
        comm, direct, sender = self._groups[packet.receivers], self._direct, packet.sender
        yield [direct.receive(header, sender, number)]
        passed = [comm.Ibcast(header, comm.rank)]
        payload = yield from _reserved(payload_size(header))
        parts = direct.parts(payload)
        arriving = [direct.receive(part, sender, number) for part in parts]
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
        requests = [comm.Ibcast(part, root) for part in self._direct.parts(payload)]
        yield POSTED
        yield requests
        return payload

    def poll(self) -> bool:
        """Return False: MPI looks after everything."""
        return False

    def close(self, tick: Callable[[], bool]) -> None:
        """Do nothing: a packet's steps end when MPI has taken it over."""


def _entry(number: int, packet: Packet) -> int:
    """Return the member of the group where the packet enters."""
    return packet.receivers[number % len(packet.receivers)]


def _reserved(size: int) -> Steps[Array]:
    yield Reserve(size)
    return np.empty(size, dtype=np.uint8)
