"""Datagrams: pieces of a payload, the XOR of several, or a question, each labelled with what it is.

A datagram is the key of the shuffle (8 random bytes), whom it is for (4: bit rank mod 32 of each receiver),
a number (4: of the packet, or the sender's rank), how many pieces it combines (2), their numbers (4 each),
all big-endian, then the XOR of the pieces, padded to the longest. What combines no piece is a question.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from coded_mr.engine.multicast.transport import Array

__all__ = ["KEY_BYTES", "MOST", "OVERHEAD", "Datagram", "Inbox", "body", "head", "mask_of", "pieces", "read"]

KEY_BYTES = 8
# How many pieces a datagram may combine.
MOST = 8

_HEAD = struct.Struct("!8sIIH")
_NUMBER = struct.Struct("!I")

OVERHEAD = _HEAD.size + _NUMBER.size * MOST
"""Bytes that a datagram may have beside the piece."""


@dataclass(frozen=True)
class Datagram:
    """Hold what a datagram says; without `numbers` it is a question of rank `packet`."""

    packet: int
    numbers: tuple[int, ...]
    content: memoryview


def mask_of(ranks: Iterable[int]) -> int:
    """Return the bits of ranks; beyond 32 ranks several share one."""
    mask = 0
    for rank in ranks:
        mask |= 1 << rank % 32
    return mask


def pieces(size: int, piece: int) -> int:
    """Return how many pieces of that many bytes a payload of that size has."""
    return -(-size // piece)


def head(key: bytes, mask: int, packet: int, numbers: Sequence[int] = ()) -> bytes:
    """Return what precedes the XOR of these pieces, or a question."""
    return _HEAD.pack(key, mask, packet, len(numbers)) + b"".join(map(_NUMBER.pack, numbers))


def body(payload: Array, piece: int, numbers: Sequence[int]) -> memoryview:
    """Return the XOR of pieces of a payload; of one piece, the piece itself."""
    # Only the last piece is shorter, so the smallest number's is the longest.
    first, *others = sorted(numbers)
    combined = payload[first * piece : (first + 1) * piece]
    if others:
        combined = combined.copy()
    for number in others:
        other = payload[number * piece : (number + 1) * piece]
        combined[: other.size] ^= other
    return combined.data


def read(datagram: memoryview, key: bytes) -> Datagram | None:
    """Return what a datagram says; None if it does not bear the key or is cut."""
    if len(datagram) < _HEAD.size:
        return None
    found, _, packet, count = _HEAD.unpack_from(datagram)
    if found != key or count > MOST:
        return None
    start = _HEAD.size + _NUMBER.size * count
    if len(datagram) <= start:
        return None
    numbers: tuple[int, ...] = struct.unpack_from(f"!{count}I", datagram, _HEAD.size)
    return Datagram(packet, numbers, datagram[start:])


class Inbox:
    """Hold an announced packet's payload while its pieces come."""

    def __init__(self, payload: Array, piece: int) -> None:
        """Wait for all pieces, of so many bytes each, of the payload."""
        self.payload = payload
        self._view = payload.data
        self._piece = piece
        self.pieces = pieces(payload.size, piece)
        self._missing = self.pieces
        self._got = bytearray(self.pieces)

    @property
    def complete(self) -> bool:
        """Tell whether all pieces have come."""
        return not self._missing

    def put(self, numbers: Sequence[int], combined: memoryview) -> bool:
        """Take the XOR of pieces; tell whether it gave one that was missing.

        What cannot belong to this payload changes nothing.
        """
        if max(numbers) >= self.pieces or len(combined) != self._size(min(numbers)):
            return False
        lacking = [number for number in numbers if not self._got[number]]
        if len(lacking) != 1:
            return False
        number, start = lacking[0], lacking[0] * self._piece
        size = self._size(number)
        self._view[start : start + size] = combined[:size]
        if len(numbers) > 1:
            target = self.payload[start : start + size]
            for other in numbers:
                if other != number:
                    known = self.payload[other * self._piece :][: min(self._piece, size)]
                    target[: known.size] ^= known
        self._got[number] = 1
        self._missing -= 1
        return True

    def missing(self, stop: int) -> tuple[int, Array]:
        """Return the first piece before `stop` that is lacking, and from there a 1 for each that is."""
        first = self._got.find(0, 0, stop)
        if first < 0:
            return stop, np.empty(0, dtype=np.uint8)
        lacks: Array = np.frombuffer(self._got, dtype=np.uint8)[first : min(stop, self.pieces)] == 0
        return first, lacks.view(np.uint8)

    def _size(self, number: int) -> int:
        return min(self._piece, self.payload.size - number * self._piece)
