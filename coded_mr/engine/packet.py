"""Coded packets: the XOR of intermediate values, and the header that makes them checkable.

A packet serves several receivers with one value each. What a receiver is sent of one batch is its *member*
of the packet: the values V[q, batch] of all partitions q that it reduces, joined in order. The payload is
the XOR of the members, each padded with zeros to the longest. The header has one entry of 9 bytes for each
intermediate value: its length (5 bytes) and its CRC-32 (4 bytes), both little-endian.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from coded_mr.plan.model import Packet, Plan

__all__ = [
    "ENTRY_BYTES",
    "Bytes",
    "Value",
    "decode",
    "encode",
    "header_bytes",
    "pack_header",
    "unpack_header",
]

Bytes: TypeAlias = "bytes | memoryview"
Array: TypeAlias = npt.NDArray[np.uint8]

ENTRY_BYTES = 9
_LENGTH_BYTES = 5

# Several operands are combined block by block, so that the running XOR stays in a core's own cache.
_BLOCK = 64 << 10


@dataclass(frozen=True)
class Value:
    """Hold one intermediate value V[q, B] with its checksum."""

    data: Bytes
    crc: int

    @classmethod
    def of(cls, data: Bytes) -> Value:
        """Return the value of these bytes."""
        return cls(data, zlib.crc32(data))

    @property
    def size(self) -> int:
        """Return the length in bytes."""
        return memoryview(self.data).nbytes

    @property
    def entry(self) -> tuple[int, int]:
        """Return the header entry: (length, CRC-32)."""
        return self.size, self.crc


def header_bytes(plan: Plan, packet: Packet) -> int:
    """Return the size of a packet's header, which every member of the group knows beforehand."""
    return ENTRY_BYTES * sum(len(plan.reduces[term.receiver]) for term in packet.terms)


def pack_header(entries: Sequence[tuple[int, int]]) -> bytes:
    """Return the header of a packet from (length, CRC-32) of its values, member by member."""
    return b"".join(
        length.to_bytes(_LENGTH_BYTES, "little") + crc.to_bytes(ENTRY_BYTES - _LENGTH_BYTES, "little")
        for length, crc in entries
    )


def unpack_header(header: Bytes | Array) -> list[tuple[int, int]]:
    """Return the (length, CRC-32) entries of a header."""
    raw = bytes(header)
    return [
        (
            int.from_bytes(raw[at : at + _LENGTH_BYTES], "little"),
            int.from_bytes(raw[at + _LENGTH_BYTES : at + ENTRY_BYTES], "little"),
        )
        for at in range(0, len(raw), ENTRY_BYTES)
    ]


def encode(members: Sequence[Sequence[Bytes]], out: Array) -> None:
    """Write the XOR of the members into `out`, whose length is that of the longest member.

    A member is a sequence of byte strings, joined. This is addition over F_{2^T} of the paper, for any T
    that divides the length: GF(2^8) and GF(2^16) add by XOR.
    """
    pieces = sorted(map(_pieces, members), key=_length, reverse=True)
    for start in range(0, out.size, _BLOCK):
        block = out[start : start + _BLOCK]
        _copy_first(pieces, start, block)


def decode(payload: Array, known: Sequence[Sequence[Bytes]]) -> None:
    """Strip the known members from a payload, in place: what stays is the receiver's own member, padded."""
    pieces = list(map(_pieces, known))
    for start in range(0, payload.size, _BLOCK):
        block = payload[start : start + _BLOCK]
        for member in pieces:
            _xor_into(block, start, member)


def _pieces(member: Sequence[Bytes]) -> list[tuple[int, Array]]:
    """Return (offset, array) of a member's parts that are not empty."""
    placed, offset = [], 0
    for part in member:
        array = np.frombuffer(part, dtype=np.uint8)
        if array.size:
            placed.append((offset, array))
            offset += array.size
    return placed


def _length(pieces: list[tuple[int, Array]]) -> int:
    return pieces[-1][0] + pieces[-1][1].size if pieces else 0


def _overlap(start: int, size: int, offset: int, length: int) -> tuple[int, int]:
    """Return the part of [start, start + size) that [offset, offset + length) covers, from `start`."""
    return max(offset - start, 0), min(offset + length - start, size)


def _copy_first(pieces: list[list[tuple[int, Array]]], start: int, block: Array) -> None:
    first, *others = pieces
    if others and len(first) == len(others[0]) == 1 and _length(others[0]) >= start + block.size:
        # Two whole operands: one pass that reads both and writes once, instead of a copy and an update.
        stop = start + block.size
        np.bitwise_xor(first[0][1][start:stop], others[0][0][1][start:stop], out=block)
        others = others[1:]
    else:
        for offset, array in first:
            low, high = _overlap(start, block.size, offset, array.size)
            if low < high:
                block[low:high] = array[start + low - offset : start + high - offset]
    for member in others:
        _xor_into(block, start, member)


def _xor_into(block: Array, start: int, member: list[tuple[int, Array]]) -> None:
    for offset, array in member:
        low, high = _overlap(start, block.size, offset, array.size)
        if low < high:
            part = block[low:high]
            np.bitwise_xor(part, array[start + low - offset : start + high - offset], out=part)
