"""What a rank sends by multicast: pieces, questions what of them is lacking, and repairs.

A sender asks every so many datagrams. What a receiver lacks of the pieces that were sent before a question,
as it answers, is lost. The losses of all receivers are repaired together, by XORs that serve several at once,
while new pieces go on being sent; what is lost again and again goes over MPI in the end.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from coded_mr.engine.multicast import messages
from coded_mr.engine.multicast.channel import Channel
from coded_mr.engine.multicast.control import Control
from coded_mr.engine.multicast.datagrams import MOST, body, head, mask_of, pieces
from coded_mr.engine.multicast.flow import Flow
from coded_mr.engine.multicast.messages import ASK, OFFER, REST, Answer, Question
from coded_mr.engine.multicast.repair import combinations
from coded_mr.engine.multicast.transport import Array, Sent

__all__ = ["Outbound", "Outgoing"]

# How often a piece is multicast at most, repairs included.
_ATTEMPTS = 5
# Questions that may still be answered, and packets that one can name.
_ASKS, _NAMED = 64, 150
# Seconds without an answer after which a question is asked again, by MPI: several times what it took so far.
_LEAST_PATIENCE, _FIRST_PATIENCE, _MOST_PATIENCE = 0.02, 0.1, 1.0
# Bytes that MPI has not taken over, beyond which pieces wait.
_REST_BYTES = 4 << 20
_REST_PIECES = 40
# Later than any question: the piece is about to be sent again.
_NEVER = np.iinfo(np.int64).max


class Outgoing:
    """A packet that is being sent: to whom, how far, and what that took."""

    def __init__(self, number: int, receivers: Sequence[int], payload: Array, piece: int, wire: int) -> None:
        """Start with nothing sent but `wire` bytes of headers."""
        self.number = number
        self.receivers = frozenset(receivers)
        self.mask = mask_of(receivers)
        self.payload = payload
        self.pieces = pieces(payload.size, piece)
        self.sent = 0
        self.unready = set(receivers) if self.pieces else set()
        self.open = set(self.unready)
        # By piece: the first question after it was last sent, and how often that was.
        self.asked: npt.NDArray[np.int64] = np.full(self.pieces, _NEVER, dtype=np.int64)
        self.attempts = [0] * self.pieces
        self.lacking: dict[int, set[int]] = {}
        self.delivered: dict[int, set[int]] = {}
        self.wire = wire
        self.datagrams = self.repairs = self.rest = 0

    @property
    def complete(self) -> bool:
        """Tell whether every receiver has everything, or MPI is bringing it."""
        return not self.open

    def result(self) -> Sent:
        """Return what sending it took."""
        return Sent(self.wire, self.datagrams, self.repairs, self.rest)


@dataclass
class _Asked:
    """A question that is not settled: what had been sent before, and who has yet to answer."""

    question: Question
    packets: tuple[Outgoing, ...]
    sent: int
    time: float
    waiting: set[int]
    by_mpi: bool
    delay: float = field(default=float("inf"))


class Outbound:
    """Send the packets of one rank, as fast as the receivers say that they come."""

    def __init__(self, rank: int, channel: Channel, control: Control) -> None:
        """Start without packets."""
        self._rank = rank
        self._channel = channel
        self._control = control
        self._flow = Flow()
        self._offered: dict[int, Outgoing] = {}
        self._open: dict[int, Outgoing] = {}
        self._fresh: deque[Outgoing] = deque()
        self._repairs: deque[tuple[Outgoing, tuple[int, ...], int]] = deque()
        self._rest: deque[tuple[Outgoing, int, list[int]]] = deque()
        self._asks: dict[int, _Asked] = {}
        self._next = 0
        # Datagrams sent, of them before the last question, and of them under way no longer.
        self._sent = self._asked = self._settled = 0
        # Whether something has gone since everyone was asked.
        self._untold = False
        # Pieces due at receivers since the last round, and of them lost.
        self._due = self._lost = 0
        self._patience = _FIRST_PATIENCE

    def offer(self, number: int, receivers: Sequence[int], header: bytes, payload: Array) -> Outgoing:
        """Announce a packet; it is sent when all receivers are ready."""
        content = messages.offer(number, header)
        wire = sum(self._control.post(receiver, OFFER, content) for receiver in receivers)
        outgoing = Outgoing(number, receivers, payload, self._channel.piece, wire)
        if outgoing.pieces:
            self._offered[number] = outgoing
        return outgoing

    def ready(self, source: int, content: memoryview) -> None:
        """Take a READY."""
        number, _ = messages.number(content)
        outgoing = self._offered[number]
        outgoing.unready.discard(source)
        if not outgoing.unready:
            self._open[number] = self._offered.pop(number)
            self._fresh.append(outgoing)

    def answered(self, source: int, content: memoryview) -> None:
        """Take an ANSWER."""
        answer = Answer.read(content)
        asked = self._asks.get(answer.number)
        if asked is None:
            return
        lacks = {lack.packet: lack.pieces for lack in answer.lacks}
        for outgoing, (number, stop) in zip(asked.packets, asked.question.entries, strict=True):
            if source in outgoing.open:
                self._hear(outgoing, source, lacks.get(number, ()), stop, answer.number)
        asked.delay = min(asked.delay, time.monotonic() - asked.time)
        asked.waiting.discard(source)
        if not asked.waiting:
            self._settle(asked)

    def _hear(
        self, outgoing: Outgoing, source: int, lacking: Sequence[int], stop: int, question: int
    ) -> None:
        """Learn what a receiver lacks of the first `stop` pieces of a packet."""
        left = set(lacking) - outgoing.delivered.get(source, set())
        if not left and stop == outgoing.pieces:
            outgoing.open.discard(source)
            outgoing.lacking.pop(source, None)
            if outgoing.complete:
                del self._open[outgoing.number]
        elif left:
            lost = {piece for piece in left if outgoing.asked[piece] <= question}
            known = outgoing.lacking.setdefault(source, set())
            self._lost += len(lost - known)
            known |= lost

    @property
    def is_idle(self) -> bool:
        """Tell whether nothing is under way, nor could be sent."""
        return self._settled == self._sent and not self._has_more

    def pump(self) -> bool:
        """Send what may be sent now; tell whether anything was."""
        before = self._sent
        self._push_rest()
        if self._flow.hopeless:
            self._give_up()
        while self._sent - self._settled < self._flow.window and self._send_one():
            self._ask_if_due()
        # With the window full nothing more is sent: a question that the channel had no room for is due still.
        self._ask_if_due()
        if self._untold and not self._has_more:
            self._ask(everyone=True)
        self._look_after_time()
        return self._sent > before

    @property
    def _has_more(self) -> bool:
        return bool(self._repairs or self._fresh)

    def _send_one(self) -> bool:
        """Send a repair, else a new piece; tell whether there was one and it was taken."""
        if self._repairs:
            outgoing, numbers, due = self._repairs[0]
        elif self._fresh:
            outgoing = self._fresh[0]
            numbers, due = (outgoing.sent,), len(outgoing.receivers)
        else:
            return False
        first = head(self._channel.key, outgoing.mask, outgoing.number, numbers)
        size = self._channel.send(first, body(outgoing.payload, self._channel.piece, numbers))
        if not size:
            return False
        outgoing.wire += size
        outgoing.datagrams += 1
        self._sent += 1
        self._untold = True
        self._due += due
        for piece in numbers:
            outgoing.asked[piece] = self._next
            outgoing.attempts[piece] += 1
        if self._repairs:
            self._repairs.popleft()
            outgoing.repairs += 1
        else:
            outgoing.sent += 1
            if outgoing.sent == outgoing.pieces:
                self._fresh.popleft()
        return True

    def _ask_if_due(self) -> None:
        if self._has_more and self._sent - self._asked >= self._flow.interval:
            self._ask()

    def _ask(self, *, everyone: bool = False, by_mpi: bool = False) -> None:
        """Ask what is lacking of all packets that are under way.

        Everyone must answer, or the one whose turn it is; the others do only if they lack something.
        """
        packets = tuple(outgoing for outgoing in self._open.values() if outgoing.sent)[:_NAMED]
        if not packets:
            self._asked = self._settled = self._sent
            self._untold = False
            return
        receivers = sorted({rank for outgoing in packets for rank in outgoing.open})
        turns = 1 if everyone else len(receivers)
        mask = mask_of(receivers[self._next % turns :: turns])
        question = Question(self._next, mask, tuple((p.number, p.sent) for p in packets))
        waiting = {rank for rank in receivers if mask & mask_of([rank])}
        content = question.to_bytes()
        by_mpi |= self._flow.hopeless
        if by_mpi:
            for receiver in waiting:
                self._control.post(receiver, ASK, content, now=True)
        else:
            first = head(self._channel.key, mask_of(receivers), self._rank)
            if not self._channel.send(first, content):
                return
        self._asks[question.number] = _Asked(question, packets, self._sent, time.monotonic(), waiting, by_mpi)
        self._asked = self._sent
        self._untold = self._untold and not everyone
        self._next += 1
        self._asks.pop(self._next - _ASKS, None)

    def _settle(self, asked: _Asked) -> None:
        """End a round: what was sent before the question is no longer under way, and losses are repaired."""
        took = time.monotonic() - asked.time
        self._patience = min(max(0.8 * self._patience + 0.2 * 4 * took, _LEAST_PATIENCE), _MOST_PATIENCE)
        if asked.sent > self._settled:
            lost = min(self._lost / self._due, 1.0) if self._due else 0.0
            self._flow.heard(asked.sent - self._settled, lost, asked.delay)
            self._settled = asked.sent
            self._due = self._lost = 0
        for outgoing in list(self._open.values()):
            if outgoing.lacking:
                self._repair(outgoing)

    def _repair(self, outgoing: Outgoing) -> None:
        lacking, outgoing.lacking = outgoing.lacking, {}
        rest: dict[int, list[int]] = {}
        for numbers in combinations(list(lacking.values()), MOST):
            if self._flow.hopeless or max(outgoing.attempts[n] for n in numbers) >= _ATTEMPTS:
                for receiver, lost in lacking.items():
                    rest.setdefault(receiver, []).extend(lost.intersection(numbers))
            else:
                due = sum(len(lost.intersection(numbers)) for lost in lacking.values())
                self._repairs.append((outgoing, numbers, due))
                outgoing.asked[list(numbers)] = _NEVER
        for receiver, lost_too in rest.items():
            self._hand_over(outgoing, receiver, lost_too)

    def _give_up(self) -> None:
        """Send what has yet to be sent by MPI."""
        for outgoing in self._fresh:
            left = list(range(outgoing.sent, outgoing.pieces))
            for receiver in outgoing.open:
                self._hand_over(outgoing, receiver, left)
            outgoing.sent = outgoing.pieces
        self._fresh.clear()

    def _hand_over(self, outgoing: Outgoing, receiver: int, numbers: Sequence[int]) -> None:
        """Let MPI bring pieces to a receiver."""
        self._untold = True
        given = outgoing.delivered.setdefault(receiver, set())
        new = [n for n in numbers if n not in given]
        given.update(new)
        for start in range(0, len(new), _REST_PIECES):
            self._rest.append((outgoing, receiver, new[start : start + _REST_PIECES]))

    def _push_rest(self) -> None:
        piece = self._channel.piece
        while self._rest and self._control.leaving_bytes < _REST_BYTES:
            outgoing, receiver, numbers = self._rest.popleft()
            content = ((n, body(outgoing.payload, piece, (n,))) for n in numbers)
            raw = messages.rest(outgoing.number, content)
            outgoing.wire += self._control.post(receiver, REST, raw, now=True)
            outgoing.rest += len(numbers)
            self._control.flush()

    def _look_after_time(self) -> None:
        """Ask again, by MPI, when the last question has had no answer for long."""
        last = self._asks.get(self._next - 1)
        if last is None or not last.waiting:
            return
        # MPI loses nothing: who was asked that way is slow.
        patience = _MOST_PATIENCE if last.by_mpi else self._patience
        if time.monotonic() - last.time > patience:
            self._ask(everyone=True, by_mpi=True)
