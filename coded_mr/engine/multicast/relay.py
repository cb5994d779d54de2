"""The `relay` transport: every receiver passes a packet on to the next, along the network's tree.

Where switches do not copy multicasts, hosts must. A packet visits its receivers in an order in which no line
of the network carries it twice in one direction (`Sites.relay`): one copy goes to one host of each pod and of
each edge switch, which passes it on to those beside it; ranks of one host get it from each other. It is cut
into segments that follow each other, so that its last receiver has it soon after the first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
from mpi4py import MPI

from coded_mr.engine.multicast.direct import Direct
from coded_mr.engine.multicast.link import SharedLink, paced
from coded_mr.engine.multicast.transport import Array, Sent
from coded_mr.engine.waiting import CHUNK
from coded_mr.engine.window import Reserve, Steps
from coded_mr.plan.model import Packet
from coded_mr.topology.sites import Sites

__all__ = ["RelayTransport"]

# A receiver holds up the next one by a segment: small beside a packet, large beside what a message costs.
_SEGMENT = 32 << 10
# Segments handed to MPI at once.
_AHEAD = 4


class RelayTransport:
    """Send each packet to its first receiver, which passes it on; no communicators are made.

    What a rank waits for comes from the rank before it in the same packet, and for nothing of other packets:
    the oldest packet that is incomplete anywhere is the oldest at all its ranks, and completes.
    """

    def __init__(
        self, world: MPI.Intracomm, sites: Sites, *, chunk: int = CHUNK, link: SharedLink | None = None
    ) -> None:
        """Use the places of the world's ranks; bound a message by `chunk` bytes; `link` paces the senders."""
        self._rank = world.rank
        self._sites = sites
        self._direct = Direct(world, min(chunk, _SEGMENT))
        self._link = link

    def send(self, number: int, packet: Packet, header: bytes, payload: Array) -> Steps[Sent]:
        """Send the packet to its first receiver."""
        wire = len(packet.receivers) * (payload.size + len(header))
        yield from paced(self._link, wire)
        direct, first = self._direct, self._order(number, packet)[1]
        yield [direct.send(np.frombuffer(header, dtype=np.uint8), first, number)]
        leaving = _Leaving()
        for part in direct.parts(payload):
            yield leaving.room()
            leaving.add(direct.send(part, first, number))
        yield leaving.all()
        return Sent(wire)

    def receive(
        self, number: int, packet: Packet, header_size: int, payload_size: Callable[[Array], int]
    ) -> Steps[tuple[Array, Array]]:
        """Return the packet's header and payload, once they are passed on."""
        direct, order = self._direct, self._order(number, packet)
        place = order.index(self._rank)
        source, following = order[place - 1], order[place + 1 : place + 2]
        header = np.empty(header_size, dtype=np.uint8)
        yield [direct.receive(header, source, number)]
        yield [direct.send(header, rank, number) for rank in following]
        size = payload_size(header)
        yield Reserve(size)
        payload = np.empty(size, dtype=np.uint8)
        parts = direct.parts(payload)
        arriving = [direct.receive(part, source, number) for part in parts]
        leaving = _Leaving()
        for part, request in zip(parts, arriving, strict=True):
            yield [request, *leaving.room()]
            for rank in following:
                leaving.add(direct.send(part, rank, number))
        yield leaving.all()
        return header, payload

    def poll(self) -> bool:
        """Do nothing: a packet is all in its steps."""
        return False

    def close(self, tick: Callable[[], bool]) -> None:
        """Do nothing."""

    def _order(self, number: int, packet: Packet) -> tuple[int, ...]:
        """Return the packet's ranks, each before the one that it sends to."""
        return packet.sender, *self._sites.relay(packet.sender, packet.receivers, number)


class _Leaving:
    """The segments of one packet that are on their way to the next rank, a few at a time.

    An MPI may send the beginnings of all messages that it is given before the end of the first: what is
    handed to it at once arrives at once, and could only then be passed on.
    """

    def __init__(self) -> None:
        self._requests: deque[MPI.Request] = deque()

    def room(self) -> list[MPI.Request]:
        """Return what has to leave before another segment may be added."""
        full = len(self._requests) >= _AHEAD
        return [self._requests.popleft()] if full else []

    def add(self, request: MPI.Request) -> None:
        """Add a segment that is being sent."""
        self._requests.append(request)

    def all(self) -> list[MPI.Request]:
        """Return all that still leave."""
        return list(self._requests)
