"""Datagrams: what is put into one comes out of it, what does not belong changes nothing."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given

from coded_mr.engine.multicast.datagrams import DATAGRAM, MOST, PIECE, Inbox, body, head, piece, pieces, read
from coded_mr.engine.multicast.flow import Flow
from coded_mr.engine.multicast.repair import combinations

Array = npt.NDArray[np.uint8]

KEY = b"ABCDEFGH"
# An Ethernet frame's 1,500 bytes without the heads of IP and UDP.
FRAME = 1472


def payload(size: int) -> Array:
    return np.random.default_rng(size).integers(0, 256, size, dtype=np.uint8)


def arriving(packet: int, numbers: tuple[int, ...], content: Array) -> Array:
    return np.frombuffer(head(KEY, packet, numbers) + body(content, numbers).tobytes(), dtype=np.uint8)


@given(st.integers(1, 8 * PIECE), st.integers(0, (1 << 32) - 1), st.data())
def test_a_datagram_is_read_as_it_was_written(size: int, packet: int, data: st.DataObject) -> None:
    content = payload(size)
    numbers = tuple(data.draw(st.sets(st.integers(0, pieces(size) - 1), min_size=1, max_size=MOST)))
    datagram = arriving(packet, numbers, content)
    assert datagram.size <= DATAGRAM <= FRAME
    found = read(datagram, KEY)
    assert found is not None
    assert found[:2] == (packet, numbers)
    expected = np.zeros(PIECE, dtype=np.uint8)
    for number in numbers:
        own = piece(content, number)
        expected[: own.size] ^= own
    assert (found[2] == expected[: found[2].size]).all()
    assert not expected[found[2].size :].any()


@pytest.mark.parametrize("size", [0, 1, 13, 14, 17, 18])
def test_what_is_cut_short_is_not_read(size: int) -> None:
    assert read(arriving(1, (0,), payload(5))[:size], KEY) is None


def test_another_key_is_not_read() -> None:
    assert read(arriving(1, (0,), payload(5)), b"abcdefgh") is None


@pytest.mark.parametrize("count", [0, MOST + 1])
def test_impossible_counts_are_not_read(count: int) -> None:
    assert read(np.frombuffer(head(KEY, 1, (0,) * count) + bytes(PIECE), dtype=np.uint8), KEY) is None


@given(
    st.integers(1, 30 * PIECE),
    st.lists(st.sets(st.integers(0, 29), max_size=29), min_size=1, max_size=5),
    st.randoms(use_true_random=False),
)
def test_repairs_complete_every_inbox(size: int, lost: list[set[int]], order: object) -> None:
    content, total = payload(size), pieces(size)
    boxes = [Inbox(np.zeros(size, dtype=np.uint8)) for _ in lost]
    for box, missed in zip(boxes, lost, strict=True):
        for number in set(range(total)) - missed:
            assert box.put((number,), piece(content, number))
    repairs = combinations([box.missing(0, total) for box in boxes], MOST)
    order.shuffle(repairs)  # type: ignore[attr-defined]
    for numbers in repairs:
        for box in boxes:
            box.put(numbers, body(content, numbers))
    for box in boxes:
        assert box.missing(0, total) == []
        assert (box.payload == content).all()


@pytest.mark.parametrize(
    ("numbers", "size"),
    [((3,), PIECE), ((1 << 31,), PIECE), ((0,), 5), ((2,), PIECE), ((0, 1), PIECE), ((1, 1), PIECE)],
    ids=["past the end", "far past", "too short", "too long", "two unknown", "twice the same"],
)
def test_what_cannot_belong_changes_nothing(numbers: tuple[int, ...], size: int) -> None:
    box = Inbox(np.zeros(2 * PIECE + 9, dtype=np.uint8))
    assert not box.put(numbers, np.ones(size, dtype=np.uint8))
    assert box.missing(0, 3) == [0, 1, 2]
    assert not box.payload.any()


def test_a_piece_that_is_there_is_not_written_again() -> None:
    box = Inbox(np.zeros(10, dtype=np.uint8))
    assert box.put((0,), np.ones(10, dtype=np.uint8))
    assert not box.put((0,), np.full(10, 7, dtype=np.uint8))
    assert (box.payload == 1).all()


def test_flow_grows_without_losses_and_bounds_what_is_under_way() -> None:
    flow = Flow()
    before = flow.window
    taken = flow.take(1000)
    assert taken == int(before)
    assert not flow.room(1)()
    flow.heard(taken, 0, 0.0)
    assert flow.window > before
    assert flow.room(1)()


def test_flow_shrinks_by_half_of_what_was_lost() -> None:
    flow = Flow()
    before = flow.window
    taken = flow.take(1000)
    flow.heard(taken, taken // 4, 0.0)
    assert flow.window == pytest.approx(before * 7 / 8)


def test_flow_gives_up_when_nothing_arrives_many_times_in_a_row() -> None:
    flow = Flow()
    for _ in range(5):
        flow.heard(flow.take(8), 8, 0.0)
    assert not flow.hopeless
    flow.heard(flow.take(8), 7, 0.0)
    for _ in range(6):
        flow.heard(flow.take(8), 8, 0.0)
    assert flow.hopeless
