"""The sending side of `ip`, without a network: a channel that has no room at times."""

from __future__ import annotations

import numpy as np
import pytest

from coded_mr.engine.multicast import messages
from coded_mr.engine.multicast.messages import Question
from coded_mr.engine.multicast.outbound import Outbound

PIECE = 100


class Network:
    """Be channel and control of a sender whose receivers lack nothing; `refused` questions find no room."""

    piece = PIECE
    key = bytes(16)
    leaving_bytes = 0

    def __init__(self, refused: set[int]) -> None:
        self.refused = refused
        self.questions: list[Question] = []
        self.tried = self.pieces = 0

    def send(self, head: bytes, content: bytes | memoryview) -> int:
        question = Question.read(memoryview(content)) if len(content) != PIECE else None
        if question is None:
            self.pieces += 1
            return len(head) + len(content)
        self.tried += 1
        if self.tried - 1 in self.refused:
            return 0
        self.questions.append(question)
        return len(head) + len(content)

    def post(self, receiver: int, kind: int, content: bytes, *, now: bool = False) -> int:
        return len(content)

    def flush(self) -> None:
        pass


@pytest.mark.parametrize("refused", [set(), {0}, set(range(17)), set(range(40)), set(range(50, 200))])
def test_a_question_that_found_no_room_is_asked_again(refused: set[int]) -> None:
    network = Network(refused)
    outbound = Outbound(0, network, network)  # type: ignore[arg-type]
    outgoing = outbound.offer(0, (1, 2), b"", np.zeros(2000 * PIECE, dtype=np.uint8))
    for receiver in (1, 2):
        outbound.ready(receiver, memoryview(messages.offer(0)))
    for _ in range(2000):
        outbound.pump()
        while network.questions:
            question = network.questions.pop()
            for receiver in (1, 2):
                outbound.answered(receiver, memoryview(messages.answer(question.number, [])))
        if outgoing.complete:
            break
    assert outgoing.complete
    assert network.pieces == 2000
