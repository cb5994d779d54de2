"""XOR encoding and decoding beside memcpy: `python -m benchmarks.kernels`.

Rates count every byte read and written: r+1 members read and one payload written to encode; r known members
and the payload read, and the payload written, to decode; one operand read and one written by memcpy. Each
call works on other packets, 512 MB in all: as in a shuffle, what it reads is not in a cache.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from coded_mr.engine.packet import decode, encode

_ROUNDS = 5
_MEMORY = 512 << 20


def main() -> None:
    """Print the rates, and their ratios to memcpy's in the same run."""
    print("  packet  members   memcpy GB/s   encode GB/s  ratio   decode GB/s  ratio")
    for size in (64 << 10, 1 << 20, 16 << 20):
        for members in (2, 3, 4, 5):
            copied, encoded, decoded = _rates(size, members)
            print(
                f"{size >> 10:>5} KB {members:>8} {copied:>13.1f} {encoded:>13.1f} {encoded / copied:>6.2f} "
                f"{decoded:>13.1f} {decoded / copied:>6.2f}"
            )


def _rates(size: int, members: int) -> tuple[float, float, float]:
    packets = max(_MEMORY // (size * (members + 1)), 2)
    rng = np.random.default_rng(0)
    memory = rng.integers(0, 256, (packets, members + 1, size), dtype=np.uint8)

    def copy(packet: npt.NDArray[np.uint8]) -> None:
        np.copyto(packet[0], packet[1])

    def encode_one(packet: npt.NDArray[np.uint8]) -> None:
        encode([[value.data] for value in packet[1:]], packet[0])

    def decode_one(packet: npt.NDArray[np.uint8]) -> None:
        decode(packet[0], [[value.data] for value in packet[2:]])

    times = _interleaved(memory, [copy, encode_one, decode_one])
    moved = (2, members + 1, members + 1)
    copied, encoded, decoded = (size * n / seconds / 1e9 for n, seconds in zip(moved, times, strict=True))
    return copied, encoded, decoded


def _interleaved(
    memory: npt.NDArray[np.uint8], calls: list[Callable[[npt.NDArray[np.uint8]], None]]
) -> list[float]:
    """Return the seconds a packet of each call, the best of some rounds in which they take turns."""
    best = [float("inf")] * len(calls)
    for _ in range(_ROUNDS):
        for index, call in enumerate(calls):
            started = time.perf_counter()
            for packet in memory:
                call(packet)
            best[index] = min(best[index], (time.perf_counter() - started) / len(memory))
    return best


if __name__ == "__main__":
    main()
