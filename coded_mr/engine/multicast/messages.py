"""What senders and receivers of multicasts tell each other, as bytes (all numbers big-endian).

OFFER    sender to receiver: a packet (4 bytes) is about to come, with its header.
READY    receiver to sender: there is room for a packet (4 bytes).
ASK      a question: its number (4), who should answer in any case (4: bits of ranks as in a datagram),
         and for each packet under way its number (4) and how many of its pieces have been sent (4).
         Others answer only if they lack some of these. It comes by multicast, too.
ANSWER   the question's number (4), and for each packet of which pieces are lacking its number (4), the first
         that is (4), for how many from there it is told (4), and a bit for each: whether it is lacking.
REST     pieces by MPI: the packet (4), and for each its number (4), its size (4) and its bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from coded_mr.engine.multicast.transport import Array

__all__ = [
    "ANSWER",
    "ASK",
    "OFFER",
    "READY",
    "REST",
    "Answer",
    "Lack",
    "Question",
    "answer",
    "number",
    "offer",
    "read_rest",
    "rest",
]

OFFER, READY, ASK, ANSWER, REST = range(1, 6)

_NUMBER = struct.Struct("!I")
_PAIR = struct.Struct("!II")
_RUN = struct.Struct("!III")

# What an answer tells of a packet at most, in pieces: what comes after that is told next time.
_MOST_TOLD = 1 << 16


def number(content: memoryview) -> tuple[int, memoryview]:
    """Return the number that a message starts with, and what follows."""
    return _NUMBER.unpack_from(content)[0], content[_NUMBER.size :]


def offer(packet: int, header: bytes = b"") -> bytes:
    """Return the content of an OFFER, or without a header of a READY."""
    return _NUMBER.pack(packet) + header


def rest(packet: int, pieces: Iterable[tuple[int, memoryview]]) -> bytes:
    """Return the content of a REST."""
    parts: list[bytes | memoryview] = [_NUMBER.pack(packet)]
    for piece, content in pieces:
        parts += (_PAIR.pack(piece, len(content)), content)
    return b"".join(parts)


def read_rest(content: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield the pieces of a REST, without the packet's number."""
    while content:
        piece, size = _PAIR.unpack_from(content)
        stop = _PAIR.size + size
        yield piece, content[_PAIR.size : stop]
        content = content[stop:]


@dataclass(frozen=True)
class Question:
    """Ask what is lacking of `entries`: packets, each with how many of its pieces have been sent."""

    number: int
    mask: int
    entries: tuple[tuple[int, int], ...]

    def to_bytes(self) -> bytes:
        """Return the content of an ASK."""
        return _PAIR.pack(self.number, self.mask) + b"".join(_PAIR.pack(*entry) for entry in self.entries)

    @classmethod
    def read(cls, content: memoryview) -> Question | None:
        """Return the question; None when it is cut."""
        if len(content) < _PAIR.size or len(content) % _PAIR.size:
            return None
        (number, mask), *entries = _PAIR.iter_unpack(content)
        return cls(number, mask, tuple(entries))


@dataclass(frozen=True)
class Lack:
    """Name the pieces of a packet that are lacking."""

    packet: int
    pieces: tuple[int, ...]


@dataclass(frozen=True)
class Answer:
    """Tell what is lacking of what a question named."""

    number: int
    lacks: tuple[Lack, ...]

    @classmethod
    def read(cls, content: memoryview) -> Answer:
        """Return the answer."""
        told, content = number(content)
        lacks = []
        while content:
            packet, first, count = _RUN.unpack_from(content)
            stop = _RUN.size + (count + 7) // 8
            bits = np.unpackbits(np.frombuffer(content[_RUN.size : stop], dtype=np.uint8), count=count)
            lacks.append(Lack(packet, tuple((np.flatnonzero(bits) + first).tolist())))
            content = content[stop:]
        return cls(told, tuple(lacks))


def answer(question: int, lacks: Iterable[tuple[int, int, Array]]) -> bytes:
    """Return the content of an ANSWER: packets, the first piece told of each, and a 1 for each lacking."""
    parts = [_NUMBER.pack(question)]
    for packet, first, flags in lacks:
        told = flags[:_MOST_TOLD]
        parts += (_RUN.pack(packet, first, told.size), np.packbits(told).tobytes())
    return b"".join(parts)
