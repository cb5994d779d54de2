"""The XOR codec, held against galois and against the plain definition."""

from __future__ import annotations

import zlib

import galois
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.engine import packet as codec
from coded_mr.engine.packet import Value, decode, encode, header_bytes, pack_header, unpack_header
from coded_mr.plan.schemes import solver_helper, uncoded

members = st.lists(st.lists(st.binary(max_size=40), min_size=1, max_size=3), min_size=1, max_size=5)


def coded(parts: list[list[bytes]]) -> np.ndarray:
    out = np.full(max(len(b"".join(member)) for member in parts), 0xA5, dtype=np.uint8)
    encode(parts, out)
    return out


def padded(parts: list[list[bytes]]) -> np.ndarray:
    joined = [b"".join(member) for member in parts]
    length = max(map(len, joined))
    return np.array([list(member.ljust(length, b"\0")) for member in joined], dtype=np.uint8).reshape(
        -1, length
    )


@given(members, st.integers(1, 7))
def test_every_receiver_recovers_its_own_member(parts, block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec, "_BLOCK", block)
        payload = coded(parts)
        for own, member in enumerate(parts):
            received = payload.copy()
            decode(received, [other for index, other in enumerate(parts) if index != own])
            expected = b"".join(member)
            assert received.tobytes() == expected.ljust(payload.size, b"\0")


@pytest.mark.parametrize("bits", [8, 16])
def test_a_packet_is_the_sum_over_the_field(bits):
    field = galois.GF(2**bits)
    rng = np.random.default_rng(bits)
    for lengths in ([64, 64, 64], [64, 10, 0], [2, 100, 100, 50], [70_000, 140_002, 66_000]):
        parts = [[rng.integers(0, 256, length, dtype=np.uint8).tobytes()] for length in lengths]
        symbols = padded(parts).view(np.dtype(f"<u{bits // 8}"))
        assert np.array_equal(
            np.add.reduce(field(symbols)).view(np.ndarray), coded(parts).view(symbols.dtype)
        )


def test_what_is_sent_is_what_the_plan_says_over_the_field():
    """Every packet of a plan, on values of its own, equals the plan's sum over GF(2^8) and GF(2^16)."""
    plan = solver_helper(4, 4, 2, 2)
    rng = np.random.default_rng(1)
    value = {
        (q, b): rng.integers(0, 256, 2 * int(rng.integers(1, 30)), dtype=np.uint8).tobytes()
        for q in range(4)
        for b in range(len(plan.batches))
    }
    for packet in plan.packets:
        parts = [[value[term.partitions[0], term.batch]] for term in packet.terms]
        for bits in (8, 16):
            symbols = padded(parts).view(np.dtype(f"<u{bits // 8}"))
            total = np.add.reduce(galois.GF(2**bits)(symbols)).view(np.ndarray)
            assert total.astype(symbols.dtype).tobytes() == coded(parts).tobytes()


@given(st.lists(st.tuples(st.integers(0, 2**40 - 1), st.integers(0, 2**32 - 1)), max_size=8))
def test_headers_round_trip(entries):
    header = pack_header(entries)
    assert len(header) == codec.ENTRY_BYTES * len(entries)
    assert unpack_header(header) == entries


def test_a_header_has_one_entry_for_each_intermediate_value():
    coded_plan, plain = solver_helper(5, 3, 2, 2), uncoded(5, 3)
    assert header_bytes(coded_plan.packets[0]) == 5 * codec.ENTRY_BYTES
    assert {header_bytes(packet) for packet in plain.packets} == {
        codec.ENTRY_BYTES,
        2 * codec.ENTRY_BYTES,
    }


@given(st.binary(max_size=50))
def test_a_value_knows_its_length_and_checksum(data):
    assert Value.of(data).entry == Value.of(memoryview(data)).entry == (len(data), zlib.crc32(data))
