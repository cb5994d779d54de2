"""Datagrams: what is put into one comes out of it, what does not belong changes nothing."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given

from coded_mr.engine.multicast import messages
from coded_mr.engine.multicast.datagrams import MOST, OVERHEAD, Inbox, body, head, mask_of, pieces, read
from coded_mr.engine.multicast.flow import Flow
from coded_mr.engine.multicast.messages import Answer, Question
from coded_mr.engine.multicast.repair import combinations

Array = npt.NDArray[np.uint8]

KEY = b"ABCDEFGH"
PIECE = 100


def payload(size: int) -> Array:
    return np.random.default_rng(size).integers(0, 256, size, dtype=np.uint8)


def arriving(packet: int, numbers: tuple[int, ...], content: Array) -> memoryview:
    return memoryview(head(KEY, 1, packet, numbers) + body(content, PIECE, numbers))


def lacking(box: Inbox) -> list[int]:
    first, flags = box.missing(box.pieces)
    return (np.flatnonzero(flags) + first).tolist()  # type: ignore[no-any-return]


@given(st.integers(1, 8 * PIECE), st.integers(0, (1 << 32) - 1), st.data())
def test_a_datagram_is_read_as_it_was_written(size: int, packet: int, data: st.DataObject) -> None:
    content = payload(size)
    numbers = tuple(data.draw(st.sets(st.integers(0, pieces(size, PIECE) - 1), min_size=1, max_size=MOST)))
    datagram = arriving(packet, numbers, content)
    assert len(datagram) <= OVERHEAD + PIECE
    found = read(datagram, KEY)
    assert found is not None
    assert (found.packet, found.numbers) == (packet, numbers)
    expected = np.zeros(PIECE, dtype=np.uint8)
    for number in numbers:
        own = content[number * PIECE : (number + 1) * PIECE]
        expected[: own.size] ^= own
    size = len(found.content)
    assert bytes(found.content) == expected[:size].tobytes()
    assert not expected[size:].any()


@pytest.mark.parametrize("size", [0, 1, 17, 18, 21, 22])
def test_what_is_cut_short_is_not_read(size: int) -> None:
    assert read(arriving(1, (0,), payload(5))[:size], KEY) is None


def test_another_key_is_not_read() -> None:
    assert read(arriving(1, (0,), payload(5)), b"abcdefgh") is None


def test_impossible_counts_are_not_read() -> None:
    assert read(memoryview(head(KEY, 1, 1, (0,) * (MOST + 1)) + bytes(PIECE)), KEY) is None


@given(st.sets(st.integers(0, 200)))
def test_every_rank_has_a_bit_in_the_mask(ranks: set[int]) -> None:
    mask = mask_of(ranks)
    assert all(mask & mask_of([rank]) for rank in ranks)
    assert mask.bit_count() == len({rank % 32 for rank in ranks})


@given(
    st.integers(1, 30 * PIECE),
    st.lists(st.sets(st.integers(0, 29), max_size=29), min_size=1, max_size=5),
    st.randoms(use_true_random=False),
)
def test_repairs_complete_every_inbox(size: int, lost: list[set[int]], order: object) -> None:
    content, total = payload(size), pieces(size, PIECE)
    boxes = [Inbox(np.zeros(size, dtype=np.uint8), PIECE) for _ in lost]
    for box, missed in zip(boxes, lost, strict=True):
        for number in set(range(total)) - missed:
            assert box.put((number,), body(content, PIECE, (number,)))
    repairs = combinations([lacking(box) for box in boxes], MOST)
    order.shuffle(repairs)  # type: ignore[attr-defined]
    for numbers in repairs:
        for box in boxes:
            box.put(numbers, body(content, PIECE, numbers))
    for box in boxes:
        assert box.complete
        assert lacking(box) == []
        assert (box.payload == content).all()


@pytest.mark.parametrize(
    ("numbers", "size"),
    [((3,), PIECE), ((1 << 31,), PIECE), ((0,), 5), ((2,), PIECE), ((0, 1), PIECE), ((1, 1), PIECE)],
    ids=["past the end", "far past", "too short", "too long", "two unknown", "twice the same"],
)
def test_what_cannot_belong_changes_nothing(numbers: tuple[int, ...], size: int) -> None:
    box = Inbox(np.zeros(2 * PIECE + 9, dtype=np.uint8), PIECE)
    assert not box.put(numbers, memoryview(b"x" * size))
    assert lacking(box) == [0, 1, 2]
    assert not box.payload.any()


def test_a_piece_that_is_there_is_not_written_again() -> None:
    box = Inbox(np.zeros(10, dtype=np.uint8), PIECE)
    assert box.put((0,), memoryview(b"1" * 10))
    assert not box.put((0,), memoryview(b"7" * 10))
    assert bytes(box.payload) == b"1" * 10


@given(
    st.integers(0, (1 << 32) - 1),
    st.integers(0, (1 << 32) - 1),
    st.lists(st.tuples(st.integers(0, 1 << 31), st.integers(0, 1 << 31)), max_size=9),
)
def test_a_question_is_read_as_it_was_written(number: int, mask: int, entries: list[tuple[int, int]]) -> None:
    question = Question(number, mask, tuple(entries))
    raw = question.to_bytes()
    assert Question.read(memoryview(raw)) == question
    assert Question.read(memoryview(raw[:-1])) is None


@given(
    st.integers(0, 9),
    st.dictionaries(st.integers(0, 99), st.sets(st.integers(0, 300), min_size=1), max_size=4),
)
def test_an_answer_names_exactly_what_is_lacking(number: int, lost: dict[int, set[int]]) -> None:
    lacks = []
    for packet, gaps in lost.items():
        box = Inbox(np.zeros(301, dtype=np.uint8), 1)
        for piece in set(range(301)) - gaps:
            box.put((piece,), memoryview(b"x"))
        lacks.append((packet, *box.missing(301)))
    found = Answer.read(memoryview(messages.answer(number, lacks)))
    assert found.number == number
    assert {lack.packet: set(lack.pieces) for lack in found.lacks} == lost


@given(st.integers(0, 99), st.dictionaries(st.integers(0, 99), st.binary(min_size=1, max_size=9), max_size=5))
def test_pieces_by_mpi_are_read_as_they_were_written(packet: int, contents: dict[int, bytes]) -> None:
    raw = messages.rest(packet, ((n, memoryview(content)) for n, content in contents.items()))
    found, left = messages.number(memoryview(raw))
    assert found == packet
    assert {n: bytes(content) for n, content in messages.read_rest(left)} == contents


def test_flow_doubles_without_losses_and_then_stays_bounded() -> None:
    flow = Flow()
    before = flow.window
    flow.heard(int(before), 0.0, 0.001)
    assert flow.window == 2 * before
    for _ in range(50):
        flow.heard(int(flow.window), 0.0, 0.001)
    most = flow.window
    flow.heard(int(flow.window), 0.0, 0.001)
    assert flow.window == most


def test_flow_shrinks_when_losses_begin_and_when_answers_come_late() -> None:
    flow = Flow()
    for _ in range(3):
        flow.heard(100, 0.0, 0.001)
    before = flow.window
    flow.heard(100, 0.5, 0.001)
    assert flow.window == pytest.approx(before * 3 / 4)
    before = flow.window
    flow.heard(100, 0.0, 0.5)
    assert flow.window < before


def test_flow_does_not_close_when_the_network_always_loses_some() -> None:
    flow = Flow()
    for _ in range(40):
        flow.heard(100, 0.2, 0.001)
    assert flow.window > 100


def test_flow_gives_up_when_nothing_arrives_many_times_in_a_row() -> None:
    flow = Flow()
    for _ in range(5):
        flow.heard(8, 1.0, 0.0)
    assert not flow.hopeless
    flow.heard(8, 0.9, 0.0)
    for _ in range(6):
        flow.heard(8, 1.0, 0.0)
    assert flow.hopeless
