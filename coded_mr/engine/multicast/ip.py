"""The `ip` transport: payloads by IP multicast, everything that must not be lost by MPI.

A packet is offered to its receivers, with its header, by MPI; once all have room for the payload, it follows
in datagrams, each a piece of it. Many packets are under way at once; see `outbound` for how losses are found
and repaired. Multicast may lose anything, or stop: the payload is complete when its transfer ends.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from mpi4py import MPI

from coded_mr.engine.multicast import messages
from coded_mr.engine.multicast.channel import Channel
from coded_mr.engine.multicast.control import Control
from coded_mr.engine.multicast.inbound import Inbound
from coded_mr.engine.multicast.link import SharedLink, paced
from coded_mr.engine.multicast.outbound import Outbound
from coded_mr.engine.multicast.transport import Array, Sent
from coded_mr.engine.multicast.unicast import UnicastTransport
from coded_mr.engine.waiting import CHUNK
from coded_mr.engine.window import Reserve, Steps
from coded_mr.plan.model import Packet

__all__ = ["IpTransport"]


class IpTransport:
    """Multicast payloads over a channel; a packet to a single receiver goes by MPI."""

    def __init__(
        self, world: MPI.Intracomm, channel: Channel, *, chunk: int = CHUNK, link: SharedLink | None = None
    ) -> None:
        """Use a channel on which all ranks of the world listen with the same key."""
        self._link = link
        self._single = UnicastTransport(world, chunk=chunk, link=link)
        self._control = Control(world)
        self._outbound = Outbound(world.rank, channel, self._control)
        self._inbound = Inbound(world.rank, channel, self._control)

    def send(self, number: int, packet: Packet, header: bytes, payload: Array) -> Steps[Sent]:
        """Send the packet to all its receivers at once."""
        if len(packet.receivers) == 1:
            return (yield from self._single.send(number, packet, header, payload))
        yield from paced(self._link, payload.size + len(header))
        outgoing = self._outbound.offer(number, packet.receivers, header, payload)
        yield lambda: outgoing.complete
        return outgoing.result()

    def receive(
        self, number: int, packet: Packet, header_size: int, payload_size: Callable[[Array], int]
    ) -> Steps[tuple[Array, Array]]:
        """Return the packet's header and payload."""
        if len(packet.receivers) == 1:
            return (yield from self._single.receive(number, packet, header_size, payload_size))
        inbound = self._inbound
        yield lambda: inbound.is_offered(number)
        header = np.frombuffer(inbound.header(number), dtype=np.uint8)
        size = payload_size(header)
        yield Reserve(size)
        payload = np.empty(size, dtype=np.uint8)
        if size:
            inbox = inbound.accept(number, packet.sender, payload)
            yield lambda: inbox.complete
        return header, payload

    def poll(self) -> bool:
        """Take what has come and send what may be sent; tell whether anything was."""
        # Before the messages: a question must not overtake what it asks for.
        moved = self._inbound.drain() | self._single.poll()
        for message in self._control.receive():
            moved = True
            if message.kind == messages.OFFER:
                self._inbound.offered(message.content)
            elif message.kind == messages.READY:
                self._outbound.ready(message.source, message.content)
            elif message.kind == messages.ANSWER:
                self._outbound.answered(message.source, message.content)
            elif message.kind == messages.REST:
                self._inbound.took_rest(message.content)
            elif (question := messages.Question.read(message.content)) is not None:
                self._inbound.asked(message.source, question)
        moved |= self._outbound.pump()
        self._control.flush(everything=self._outbound.is_idle)
        return moved

    def close(self, tick: Callable[[], bool]) -> None:
        """Serve the others until all are through; collective. `tick` polls."""
        self._single.close(tick)
        self._control.close(tick)
