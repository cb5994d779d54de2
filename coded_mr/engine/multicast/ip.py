"""The `ip` transport: payloads by IP multicast, everything that must not be lost by MPI.

The header goes to each receiver by MPI; once all have room for the payload, it follows in spans of datagrams.
After a span the sender says over MPI that it is through, and each receiver reports what it lacks. Repairs are
XORs that serve several receivers at once; what is missing after some rounds goes over MPI. So multicast may
lose anything, or stop: the payload is complete when its transfer ends.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from coded_mr.engine.multicast.channel import Channel
from coded_mr.engine.multicast.datagrams import MOST, Inbox, piece, pieces
from coded_mr.engine.multicast.flow import Flow
from coded_mr.engine.multicast.link import SharedLink
from coded_mr.engine.multicast.repair import combinations
from coded_mr.engine.multicast.transport import Array, Sent
from coded_mr.engine.multicast.unicast import UnicastTransport, tag_count
from coded_mr.engine.waiting import CHUNK
from coded_mr.engine.window import Reserve, Steps
from coded_mr.plan.model import Packet

__all__ = ["IpTransport"]

_Order = npt.NDArray[np.int64]

# Datagrams in a span at most, so that a report is 32 bytes.
_SPAN = 256
# Rounds of a span by multicast: the first, and repairs.
_ROUNDS = 4
# Seconds of silence after which what a sender has sent is taken for lost; doubled in each round.
_SILENCE = 0.002
# Seconds after which a receiver reports although its socket is never empty: strangers may be flooding it.
_PATIENCE = 0.25

_THROUGH, _REST = 1, 2


class IpTransport:
    """Multicast payloads over a channel; a packet to a single receiver goes by MPI."""

    def __init__(
        self, world: MPI.Intracomm, channel: Channel, *, chunk: int = CHUNK, link: SharedLink | None = None
    ) -> None:
        """Use a channel that all ranks of the world have joined with the same key."""
        self._world = world
        self._channel = channel
        self._link = link
        self._flow = Flow()
        self._single = UnicastTransport(world, chunk=chunk, link=link)
        # Tags from 0 for what a packet's sender says, from here on for what its receivers answer.
        self._tags = tag_count() // 2

    def send(self, number: int, packet: Packet, header: bytes, payload: Array) -> Steps[Sent]:
        """Send the packet to all its receivers at once."""
        if len(packet.receivers) == 1:
            return (yield from self._single.send(number, packet, header, payload))
        if self._link is not None:
            yield self._link.carries(payload.size + len(header))
        raw, ready = np.frombuffer(header, dtype=np.uint8), np.empty(len(packet.receivers), dtype=np.uint8)
        yield [
            *self._tell(number, packet.receivers, raw),
            *self._hear(number, packet.receivers, ready.reshape(-1, 1)),
        ]
        outgoing = _Outgoing(number, packet.receivers, payload, len(header) * len(packet.receivers))
        total, start = pieces(payload.size), 0
        while start < total:
            wanted = min(total - start, _SPAN)
            yield self._flow.room(wanted)
            stop = start + self._flow.take(wanted)
            yield from self._span(outgoing, start, stop)
            start = stop
        return outgoing.sent()

    def _span(self, outgoing: _Outgoing, start: int, stop: int) -> Steps[None]:
        """Deliver pieces [start, stop) to all receivers."""
        missing = {receiver: list(range(start, stop)) for receiver in outgoing.receivers}
        began, heard = time.monotonic(), False
        for attempt in range(0 if self._flow.hopeless else _ROUNDS):
            if attempt:
                repairs = combinations(list(missing.values()), MOST)
                outgoing.repairs += len(repairs)
                yield self._sends(outgoing, repairs)
            else:
                yield self._sends(outgoing, ((n,) for n in range(start, stop)))
            missing = yield from self._ask(outgoing, list(missing), start, stop)
            if not heard:
                lost = max(map(len, missing.values()), default=0)
                self._flow.heard(stop - start, lost, time.monotonic() - began)
                heard = True
            if not missing:
                return
        if not heard:
            self._flow.heard(stop - start, stop - start, 0.0)
        yield from self._rest(outgoing, missing, stop)

    def _sends(self, outgoing: _Outgoing, sets: Iterable[tuple[int, ...]]) -> Callable[[], bool]:
        """Return what sends datagrams as fast as the socket takes them, and tells when all are sent."""
        waiting = deque(sets)

        def go_on() -> bool:
            while waiting:
                sent = self._channel.send(outgoing.number, waiting[0], outgoing.payload)
                if not sent:
                    return False
                outgoing.wire += sent
                outgoing.datagrams += 1
                waiting.popleft()
            return True

        return go_on

    def _ask(
        self, outgoing: _Outgoing, receivers: Sequence[int], start: int, stop: int
    ) -> Steps[dict[int, list[int]]]:
        """Say that the span is through, and return what each receiver lacks of it, if anything."""
        reports = np.empty((len(receivers), _SPAN // 8), dtype=np.uint8)
        order = np.array([_THROUGH, stop], dtype=np.int64)
        number = outgoing.number
        yield [*self._tell(number, receivers, order), *self._hear(number, receivers, reports)]
        bits = np.unpackbits(reports, axis=1, count=stop - start)
        lacking = {
            receiver: [start + int(n) for n in np.flatnonzero(own)]
            for receiver, own in zip(receivers, bits, strict=True)
        }
        return {receiver: lost for receiver, lost in lacking.items() if lost}

    def _rest(self, outgoing: _Outgoing, missing: dict[int, list[int]], stop: int) -> Steps[None]:
        """Send each receiver over MPI what it still lacks."""
        order = np.array([_REST, stop], dtype=np.int64)
        requests = self._tell(outgoing.number, list(missing), order)
        for receiver, numbers in missing.items():
            content = np.concatenate([piece(outgoing.payload, n) for n in numbers])
            requests += self._tell(outgoing.number, [receiver], content)
            outgoing.wire += content.size
            outgoing.rest += len(numbers)
        yield requests

    def receive(
        self, number: int, packet: Packet, header_size: int, payload_size: Callable[[Array], int]
    ) -> Steps[tuple[Array, Array]]:
        """Return the packet's header and payload."""
        if len(packet.receivers) == 1:
            return (yield from self._single.receive(number, packet, header_size, payload_size))
        header, sender = np.empty(header_size, dtype=np.uint8), packet.sender
        yield [self._world.Irecv(header, sender, number % self._tags)]
        size = payload_size(header)
        yield Reserve(size)
        payload = np.empty(size, dtype=np.uint8)
        inbox = self._channel.announce(number, payload)
        yield [self._answer(number, sender, np.ones(1, dtype=np.uint8))]
        start = 0
        while start < inbox.pieces:
            start = yield from self._collect(number, sender, inbox, start)
        self._channel.forget(number)
        return header, payload

    def _collect(self, number: int, sender: int, inbox: Inbox, start: int) -> Steps[int]:
        """Get all pieces of the span that starts there, and return where the next one does."""
        order = np.empty(2, dtype=np.int64)
        lacking: list[int] | None = None
        silence = _SILENCE
        while lacking is None or lacking:
            yield [self._world.Irecv(order, sender, number % self._tags)]
            kind, stop = map(int, order)
            if kind == _REST:
                yield from self._take_rest(
                    number, sender, inbox, lacking if lacking is not None else range(start, stop)
                )
                return stop
            yield self._settled(inbox, start, stop, silence)
            lacking = inbox.missing(start, stop)
            bits = np.zeros(_SPAN, dtype=np.uint8)
            bits[np.array(lacking, dtype=np.int64) - start] = 1
            yield [self._answer(number, sender, np.packbits(bits))]
            silence *= 2
        return stop

    def _settled(self, inbox: Inbox, start: int, stop: int, silence: float) -> Callable[[], bool]:
        """Return a condition: the span is complete, or nothing more of it is likely to come."""
        told = time.monotonic()

        def settled() -> bool:
            if not inbox.missing(start, stop):
                return True
            now = time.monotonic()
            quiet = now - max(told, inbox.heard) > silence
            return (quiet and self._channel.drained) or now - told > _PATIENCE

        return settled

    def _take_rest(self, number: int, sender: int, inbox: Inbox, lacking: Sequence[int]) -> Steps[None]:
        """Receive over MPI the pieces that the sender was told are lacking."""
        sizes = [piece(inbox.payload, n).size for n in lacking]
        content = np.empty(sum(sizes), dtype=np.uint8)
        yield [self._world.Irecv(content, sender, number % self._tags)]
        ends = np.cumsum(sizes)[:-1]
        for n, own in zip(lacking, np.split(content, ends), strict=True):
            self._channel.put(inbox, n, own)

    def _tell(self, number: int, receivers: Sequence[int], content: Array | _Order) -> list[MPI.Request]:
        return [self._world.Isend(content, receiver, number % self._tags) for receiver in receivers]

    def _hear(self, number: int, receivers: Sequence[int], rows: Array) -> list[MPI.Request]:
        tag = self._tags + number % self._tags
        return [self._world.Irecv(row, receiver, tag) for receiver, row in zip(receivers, rows, strict=True)]

    def _answer(self, number: int, sender: int, content: Array) -> MPI.Request:
        return self._world.Isend(content, sender, self._tags + number % self._tags)


class _Outgoing:
    """A packet that is being sent, and what that has taken so far."""

    def __init__(self, number: int, receivers: Sequence[int], payload: Array, wire: int) -> None:
        self.number = number
        self.receivers = receivers
        self.payload = payload
        self.wire = wire
        self.datagrams = self.repairs = self.rest = 0

    def sent(self) -> Sent:
        return Sent(self.wire, self.datagrams, self.repairs, self.rest)
