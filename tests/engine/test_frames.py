"""Packets joined into messages: what is added comes out, in order, and nothing else."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from coded_mr.engine.multicast.frames import Outbox, frames

PACKETS = st.lists(
    st.tuples(st.integers(0, 2**32 - 1), st.binary(max_size=40), st.binary(max_size=200)), max_size=12
)


def add(outbox: Outbox, packets: list[tuple[int, bytes, bytes]]) -> None:
    for number, header, payload in packets:
        outbox.add(number, header, np.frombuffer(payload, dtype=np.uint8))


def read(message: np.ndarray) -> list[tuple[int, bytes]]:
    return [(number, bytes(content)) for number, content in frames(message)]


@given(PACKETS, PACKETS)
def test_every_packet_comes_out_once_in_order(first, second):
    outbox = Outbox()
    for packets in (first, second):
        add(outbox, packets)
        size = outbox.size
        message = outbox.message()
        assert message.size == size
        assert read(message) == [(number, header + payload) for number, header, payload in packets]
        assert outbox.size == 0


@given(PACKETS)
def test_a_frame_costs_eight_bytes(packets):
    outbox = Outbox()
    add(outbox, packets)
    assert outbox.size == sum(8 + len(header) + len(payload) for _, header, payload in packets)


def test_what_arrives_may_be_decoded_in_place():
    outbox = Outbox()
    add(outbox, [(1, b"h", b"one"), (2, b"h", b"two")])
    arrived = outbox.message().copy()
    (_, first), (_, second) = frames(arrived)
    first ^= 255
    assert bytes(first ^ 255) == b"hone"
    assert bytes(second) == b"htwo"
