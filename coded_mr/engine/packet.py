"""Coded packets: the XOR of intermediate values, and the header that makes them checkable.

A packet combines the *members* that its terms name: the values V[q, batch] of some partitions q, joined in
order, or a segment of that. The payload is the XOR of the members, each padded with zeros to the longest.
The header has one entry of 9 bytes for each intermediate value that a term names: its whole length (5 bytes)
and its CRC-32 (4 bytes), both little-endian.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from coded_mr.plan.model import Packet, Term

__all__ = [
    "ENTRY_BYTES",
    "Array",
    "Bytes",
    "Value",
    "decode",
    "encode",
    "header_bytes",
    "joined",
    "member_of",
    "pack_header",
    "segment_span",
    "unpack_header",
]

Bytes: TypeAlias = "bytes | memoryview"
Array: TypeAlias = npt.NDArray[np.uint8]

ENTRY_BYTES = 9
_LENGTH_BYTES = 5

# Several operands are combined block by block, so that the running XOR stays in a core's own cache.
_BLOCK = 128 << 10


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


def header_bytes(packet: Packet) -> int:
    """Return the size of a packet's header, which every member of the group knows beforehand."""
    return ENTRY_BYTES * sum(len(term.partitions) for term in packet.terms)


def segment_span(term: Term, length: int) -> tuple[int, int]:
    """Return where the segment that a term names lies in joined values of this length: [start, stop)."""
    part = -(-length // term.segments)
    return min(term.segment * part, length), min((term.segment + 1) * part, length)


def member_of(term: Term, values: Sequence[Value]) -> list[Bytes]:
    """Return a term's member as parts to be joined, from the values of its partitions in order."""
    if term.segments == 1:
        return [value.data for value in values]
    start, stop = segment_span(term, sum(value.size for value in values))
    parts: list[Bytes] = []
    offset = 0
    for value in values:
        low, high = max(start - offset, 0), min(stop - offset, value.size)
        if low < high:
            parts.append(memoryview(value.data)[low:high])
        offset += value.size
    return parts or [b""]


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
    whole = sorted(map(joined, members), key=len, reverse=True)
    first = whole[0]
    # The two longest go into `out` in one pass that reads both; where only one reaches, it is copied.
    common = len(whole[1]) if len(whole) > 1 else 0
    for start in range(0, common, _BLOCK):
        stop = min(start + _BLOCK, common)
        np.bitwise_xor(first[start:stop], whole[1][start:stop], out=out[start:stop])
        _xor_into(out, start, stop, whole[2:])
    out[common:] = first[common:]


def decode(payload: Array, known: Sequence[Sequence[Bytes]]) -> None:
    """Strip the known members from a payload, in place: what stays is the receiver's own member, padded."""
    whole = list(map(joined, known))
    for start in range(0, payload.size, _BLOCK):
        _xor_into(payload, start, min(start + _BLOCK, payload.size), whole)


def joined(member: Sequence[Bytes]) -> Array:
    """Return a member as one array; several parts are copied together."""
    return np.frombuffer(member[0] if len(member) == 1 else b"".join(member), dtype=np.uint8)


def _xor_into(target: Array, start: int, stop: int, members: Sequence[Array]) -> None:
    """XOR the members' bytes [start, stop) into the target's; a member may end before."""
    block = target[start:stop]
    for member in members:
        part = member[start:stop]
        if part.size == block.size:
            np.bitwise_xor(block, part, out=block)
        elif part.size:
            np.bitwise_xor(block[: part.size], part, out=block[: part.size])
