"""Packets joined into one message: a frame for each, of its number (4 bytes), its size (4), and its bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np

from coded_mr.engine.multicast.transport import Array

__all__ = ["Outbox", "frames"]

_FRAME = struct.Struct("!II")


class Outbox:
    """Hold frames for one rank until they leave together; `size` is that of their message, in bytes."""

    def __init__(self) -> None:
        """Start empty."""
        self.size = 0
        self._parts: list[bytes | memoryview] = []

    def add(self, number: int, header: bytes, payload: Array) -> None:
        """Add a packet; its payload, which may be empty, is copied when the message is made."""
        size = len(header) + payload.size
        self._parts += (_FRAME.pack(number, size), header, payload.data)
        self.size += _FRAME.size + size

    def message(self) -> Array:
        """Return all frames as one message, and be empty."""
        raw = np.frombuffer(b"".join(self._parts), dtype=np.uint8)
        self.size = 0
        self._parts.clear()
        return raw


def frames(message: Array) -> Iterator[tuple[int, Array]]:
    """Yield the number and the content, header and payload, of each packet in a message."""
    raw, start = message.data, 0
    while start < message.size:
        number, size = _FRAME.unpack_from(raw, start)
        start += _FRAME.size + size
        yield number, message[start - size : start]
