"""Joined packets: few messages for many packets, all there and in order, and a bound on what is under way."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import numpy as np
import pytest
from mpi4py import MPI

from coded_mr.engine.multicast import joined
from coded_mr.engine.multicast.joined import Joined

pytestmark = pytest.mark.mpi

SIZES = (2,)

SECONDS = 20


@pytest.fixture
def world() -> Iterator[MPI.Intracomm]:
    own = MPI.COMM_WORLD.Dup()
    yield own
    own.Free()


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the ranks to which messages are sent, as they leave."""
    left: list[int] = []
    send = Joined._send

    def noting(self: Joined, rank: int) -> None:
        left.append(rank)
        send(self, rank)

    monkeypatch.setattr(Joined, "_send", noting)
    return left


def content(number: int) -> tuple[bytes, bytes]:
    source = random.Random(number)
    return source.randbytes(18), source.randbytes(source.choice((0, 1, 100, 5_000)))


def post(packets: Joined, number: int, *, now: bool = False) -> None:
    header, payload = content(number)
    packets.post(1, number, header, np.frombuffer(payload, dtype=np.uint8), now=now)


def assert_taken(packets: Joined, numbers: range) -> None:
    """Wait for each of rank 0's packets and assert that it is what was posted."""
    until = time.monotonic() + SECONDS
    for number in numbers:
        is_here = packets.expect(0, number)
        while not is_here():
            assert time.monotonic() < until, f"packet {number} has not come"
            packets.poll()
        assert bytes(packets.take(number)) == b"".join(content(number))


def test_what_is_posted_before_a_poll_is_one_message(world: MPI.Intracomm, messages: list[int]) -> None:
    packets = Joined(world)
    if world.rank == 0:
        for number in range(20):
            post(packets, number)
        assert not packets.poll()
        assert messages == []
        assert packets.poll()
        assert messages == [1]
    else:
        # The first that is expected is the last that was posted: all others come with it.
        assert_taken(packets, range(19, 20))
        assert_taken(packets, range(19))
    packets.close(packets.poll)


def test_a_packet_that_cannot_wait_takes_along_those_before_it(
    world: MPI.Intracomm, messages: list[int]
) -> None:
    packets = Joined(world)
    if world.rank == 0:
        for number in range(3):
            post(packets, number, now=number == 1)
        assert messages == [1]
    else:
        assert_taken(packets, range(3))
    packets.close(packets.poll)
    assert len(messages) == (2 if world.rank == 0 else 0)


def test_a_sender_far_ahead_waits(world: MPI.Intracomm, messages: list[int]) -> None:
    packets, count = Joined(world), 2_000
    if world.rank == 0:
        bytes_posted = 0
        until = time.monotonic() + SECONDS
        for number in range(count):
            while not packets.has_room(1):
                assert time.monotonic() < until, "nothing leaves"
                packets.poll()
            post(packets, number)
            bytes_posted += sum(map(len, content(number)))
            under_way = sum(raw.size for _, raw in packets._leaving.get(1, ()))
            assert under_way < joined._LEAVING + 2 * joined._MESSAGE
        packets.close(packets.poll)
        assert bytes_posted / joined._MESSAGE / 2 < len(messages) <= bytes_posted / joined._MESSAGE + 100
    else:
        time.sleep(0.1)
        assert not packets._arrived
        assert_taken(packets, range(count))
        packets.close(packets.poll)
    world.Barrier()
