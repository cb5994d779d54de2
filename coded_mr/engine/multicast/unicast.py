"""The `unicast` transport: every packet goes to each of its receivers, point to point."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from mpi4py import MPI

from coded_mr.engine.multicast.direct import Direct
from coded_mr.engine.multicast.joined import Joined
from coded_mr.engine.multicast.link import SharedLink, paced
from coded_mr.engine.multicast.transport import Array, Sent
from coded_mr.engine.waiting import CHUNK
from coded_mr.engine.window import Reserve, Steps
from coded_mr.plan.model import Packet

__all__ = ["UnicastTransport"]

# Payloads up to so many bytes travel with others: to copy them costs less than a message of their own.
_SMALL = 16 << 10


class UnicastTransport:
    """Send each packet to each receiver; no communicators are made.

    Small packets for one receiver are joined. A larger payload travels alone, from the one buffer that all
    its receivers share, after its header, which takes along what is waiting.
    """

    def __init__(self, world: MPI.Intracomm, *, chunk: int = CHUNK, link: SharedLink | None = None) -> None:
        """Bound a message of a large payload by `chunk` bytes; `link` paces the senders, with every copy."""
        self._direct = Direct(world, chunk)
        self._joined = Joined(world)
        self._small = min(chunk, _SMALL)
        self._link = link

    def send(self, number: int, packet: Packet, header: bytes, payload: Array) -> Steps[Sent]:
        """Send the packet to every receiver."""
        wire = len(packet.receivers) * (payload.size + len(header))
        yield from paced(self._link, wire)
        direct, joined = self._direct, self._joined
        alone = payload.size > self._small
        parts = direct.parts(payload) if alone else []
        requests = []
        for receiver in packet.receivers:
            if not joined.has_room(receiver):
                yield partial(joined.has_room, receiver)
            joined.post(receiver, number, header, payload[:0] if alone else payload, now=alone)
            requests += [direct.send(part, receiver, number) for part in parts]
        if requests:
            yield requests
        return Sent(wire)

    def receive(
        self, number: int, packet: Packet, header_size: int, payload_size: Callable[[Array], int]
    ) -> Steps[tuple[Array, Array]]:
        """Return the packet's header and payload."""
        joined = self._joined
        is_here = joined.expect(packet.sender, number)
        if not is_here():
            yield is_here
        content = joined.take(number)
        header, payload = content[:header_size], content[header_size:]
        size = payload_size(header)
        yield Reserve(size)
        if size > self._small:
            payload = np.empty(size, dtype=np.uint8)
            parts = self._direct.parts(payload)
            yield [self._direct.receive(part, packet.sender, number) for part in parts]
        return header, payload

    def poll(self) -> bool:
        """Send and take joined packets; tell whether there were any."""
        return self._joined.poll()

    def close(self, tick: Callable[[], bool]) -> None:
        """Wait until MPI has taken over what was joined; `tick` polls."""
        self._joined.close(tick)
