"""Datagrams: pieces of a payload, or the XOR of several, each labelled with what it is.

A datagram is the key of the shuffle (8 random bytes), the packet's number (4 bytes), how many pieces it
combines (2), their numbers (4 each), all little-endian, then the XOR of the pieces, padded to the longest.
It fits a frame of 1,500 bytes.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence

import numpy as np

from coded_mr.engine.multicast.transport import Array

__all__ = ["DATAGRAM", "KEY_BYTES", "MOST", "PIECE", "Inbox", "body", "head", "piece", "pieces", "read"]

KEY_BYTES = 8
# Pieces of a payload, in bytes, and how many of them a datagram may combine.
PIECE = 1400
MOST = 12

_HEAD = struct.Struct("<8sIH")
DATAGRAM = _HEAD.size + 4 * MOST + PIECE


def pieces(size: int) -> int:
    """Return how many pieces a payload of that size has."""
    return -(-size // PIECE)


def piece(payload: Array, number: int) -> Array:
    """Return one piece of a payload; the last one may be shorter."""
    return payload[number * PIECE : (number + 1) * PIECE]


def head(key: bytes, packet: int, numbers: Sequence[int]) -> bytes:
    """Return what precedes the XOR of these pieces."""
    return _HEAD.pack(key, packet, len(numbers)) + struct.pack(f"<{len(numbers)}I", *numbers)


def body(payload: Array, numbers: Sequence[int]) -> Array:
    """Return the XOR of pieces of a payload; of one piece, the piece itself."""
    if len(numbers) == 1:
        return piece(payload, numbers[0])
    # Only the last piece is shorter, so the smallest number's is the longest.
    first, *others = sorted(numbers)
    combined: Array = piece(payload, first).copy()
    for number in others:
        other = piece(payload, number)
        combined[: other.size] ^= other
    return combined


def read(datagram: Array, key: bytes) -> tuple[int, tuple[int, ...], Array] | None:
    """Return packet, pieces and their XOR from a datagram; None if it does not bear the key or is cut."""
    if datagram.size < _HEAD.size:
        return None
    found, packet, count = _HEAD.unpack_from(datagram.data)
    if found != key or not 1 <= count <= MOST:
        return None
    start = _HEAD.size + 4 * count
    if datagram.size <= start:
        return None
    return packet, struct.unpack_from(f"<{count}I", datagram.data, _HEAD.size), datagram[start:]


class Inbox:
    """Hold an announced packet's payload while its pieces come; `heard` is when the last one came."""

    def __init__(self, payload: Array) -> None:
        """Wait for all pieces of the payload."""
        self.payload = payload
        self.pieces = pieces(payload.size)
        self.heard = time.monotonic()
        self._got = np.zeros(self.pieces, dtype=np.bool_)

    def put(self, numbers: Sequence[int], combined: Array) -> bool:
        """Take the XOR of pieces; tell whether it gave one that was missing.

        What cannot belong to this payload changes nothing.
        """
        if max(numbers) >= self.pieces or combined.size != piece(self.payload, min(numbers)).size:
            return False
        lacking = [number for number in numbers if not self._got[number]]
        if len(lacking) != 1:
            return False
        target = piece(self.payload, lacking[0])
        target[:] = combined[: target.size]
        for number in numbers:
            if number != lacking[0]:
                known = piece(self.payload, number)[: target.size]
                target[: known.size] ^= known
        self._got[lacking[0]] = True
        self.heard = time.monotonic()
        return True

    def missing(self, start: int, stop: int) -> list[int]:
        """Return the pieces among [start, stop) that have not come."""
        return [start + int(gap) for gap in np.flatnonzero(~self._got[start:stop])]
