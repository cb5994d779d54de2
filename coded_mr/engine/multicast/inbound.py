"""What a rank receives by multicast: offers, pieces, questions, and the answers to them."""

from __future__ import annotations

from coded_mr.engine.multicast import messages
from coded_mr.engine.multicast.channel import Channel
from coded_mr.engine.multicast.control import Control
from coded_mr.engine.multicast.datagrams import Inbox, mask_of
from coded_mr.engine.multicast.messages import ANSWER, READY, Question
from coded_mr.engine.multicast.transport import Array

__all__ = ["Inbound"]

# Datagrams taken at once at most: others on this rank have work, too.
_MOST = 1024


class Inbound:
    """Put what comes for accepted packets where it belongs, and tell senders what is lacking."""

    def __init__(self, rank: int, channel: Channel, control: Control) -> None:
        """Start without packets."""
        self._bit = mask_of([rank])
        self._channel = channel
        self._control = control
        self._headers: dict[int, memoryview] = {}
        self._inboxes: dict[int, Inbox] = {}
        self._done: set[int] = set()

    def is_offered(self, packet: int) -> bool:
        """Tell whether the packet's header is here."""
        return packet in self._headers

    def header(self, packet: int) -> memoryview:
        """Return the header, once."""
        return self._headers.pop(packet)

    def accept(self, packet: int, sender: int, payload: Array) -> Inbox:
        """Let the pieces of a packet be written into this payload until it is complete."""
        inbox = self._inboxes[packet] = Inbox(payload, self._channel.piece)
        self._control.post(sender, READY, messages.offer(packet))
        return inbox

    def drain(self) -> bool:
        """Take the datagrams that have come; tell whether there were any."""
        for count in range(_MOST):
            found = self._channel.receive()
            if found is None:
                return count > 0
            if not found.numbers:
                question = Question.read(found.content)
                if question is not None:
                    self.asked(found.packet, question)
            else:
                inbox = self._inboxes.get(found.packet)
                if inbox is not None and inbox.put(found.numbers, found.content):
                    self._settle(found.packet, inbox)
        return True

    def offered(self, content: memoryview) -> None:
        """Take an OFFER."""
        packet, header = messages.number(content)
        self._headers[packet] = header

    def took_rest(self, content: memoryview) -> None:
        """Take a REST."""
        packet, pieces = messages.number(content)
        inbox = self._inboxes.get(packet)
        if inbox is not None:
            for number, piece in messages.read_rest(pieces):
                inbox.put((number,), piece)
            self._settle(packet, inbox)

    def asked(self, sender: int, question: Question) -> None:
        """Answer a question, if it is for this rank."""
        lacks = []
        concerned = False
        for packet, stop in question.entries:
            inbox = self._inboxes.get(packet)
            if inbox is not None:
                first, flags = inbox.missing(stop)
                if flags.size:
                    lacks.append((packet, first, flags))
            concerned |= inbox is not None or packet in self._done
        if lacks or (concerned and question.mask & self._bit):
            self._control.post(sender, ANSWER, messages.answer(question.number, lacks), now=True)

    def _settle(self, packet: int, inbox: Inbox) -> None:
        if inbox.complete:
            del self._inboxes[packet]
            self._done.add(packet)
