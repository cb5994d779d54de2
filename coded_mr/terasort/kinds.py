"""Build blocks of TeraSort records whose keys follow one of several distributions.

Record i is a function of its number, the kind and the seed alone, so any range of records can be made
anywhere. All kinds share the value (bytes 10-99) of gensort's ASCII records, which shows the number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coded_mr.terasort import KEY_BYTES, RECORD_BYTES
from coded_mr.terasort.lcg import states
from coded_mr.terasort.records import Records

__all__ = ["KINDS", "make_records"]

Keys = tuple[NDArray[np.uint64], NDArray[np.uint64]]
"""The first 8 bytes of each key as a number, and the last 2."""

_HEX: Final = np.frombuffer(b"0123456789ABCDEF", np.uint8)
_NUMBER_AT: Final = 12
_FILLER_AT: Final = 46
_ZIPF_KEYS: Final = 100


def make_records(kind: str, start: int, count: int, seed: int = 0) -> Records:
    """Return records start .. start+count-1 of a kind of KINDS, shape (count, 100).

    "ascii" is gensort 1.5 with `-a`, byte for byte, and has no seed. `start + count` is at most 2^63.
    """
    records = np.empty((count, RECORD_BYTES), np.uint8)
    high, low = states(start, count)
    numbers = np.arange(count, dtype=np.uint64) + np.uint64(start)
    if kind == "ascii":
        _write_ascii_keys(records, high, low)
    else:
        _write_keys(records, *_BINARY_KEYS[kind](numbers, seed))
    _write_values(records, numbers, low)
    return records


def _write_ascii_keys(records: Records, high: NDArray[np.uint64], low: NDArray[np.uint64]) -> None:
    """Write printable keys: remainders by 95, eight of the state's high half, two of its low half."""
    base = np.uint64(95)
    for rest, columns in ((high, range(8)), (low, range(8, KEY_BYTES))):
        for column in columns:
            quotient = rest // base
            records[:, column] = rest - quotient * base + np.uint64(32)
            rest = quotient


def _write_keys(records: Records, high: NDArray[np.uint64], low: NDArray[np.uint64]) -> None:
    records[:, :8] = high.astype(">u8").view(np.uint8).reshape(-1, 8)
    records[:, 8:KEY_BYTES] = low.astype(">u2").view(np.uint8).reshape(-1, 2)


def _write_values(records: Records, numbers: NDArray[np.uint64], low: NDArray[np.uint64]) -> None:
    """Write two spaces, 32 hex digits of the number, two spaces, 13 digits four times each, CR LF."""
    records[:, KEY_BYTES:_FILLER_AT] = np.frombuffer(b"  " + b"0" * 32 + b"  ", np.uint8)
    for digit in range(16):
        records[:, _NUMBER_AT + 31 - digit] = _hex_digit(numbers, digit)
    for digit in range(13):
        at = _FILLER_AT + 4 * (12 - digit)
        records[:, at : at + 4] = _hex_digit(low, digit)[:, np.newaxis]
    records[:, RECORD_BYTES - 2 :] = np.frombuffer(b"\r\n", np.uint8)


def _hex_digit(values: NDArray[np.uint64], digit: int) -> NDArray[np.uint8]:
    digits: NDArray[np.uint8] = _HEX[(values >> np.uint64(4 * digit) & np.uint64(15)).astype(np.intp)]
    return digits


def _random(numbers: NDArray[np.uint64], seed: int, stream: int) -> NDArray[np.uint64]:
    """Return 64 random bits for each number: Steele, Lea and Flood's SplitMix64 with a start per stream."""
    offset = np.uint64((seed * 0xD1342543DE82EF95 + (stream + 1) * 0xAF251AF3B0F025B5) % 2**64)
    x = numbers * np.uint64(0x9E3779B97F4A7C15) + offset
    x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    bits: NDArray[np.uint64] = x ^ x >> np.uint64(31)
    return bits


def _uniform(numbers: NDArray[np.uint64], seed: int) -> Keys:
    """Return uniform random keys."""
    return _random(numbers, seed, 0), _random(numbers, seed, 1) >> np.uint64(48)


def _nul(numbers: NDArray[np.uint64], seed: int) -> Keys:
    """Return keys of 1 to 7 NUL bytes followed by bytes that are NUL in one case of three."""
    high, low = _uniform(numbers, seed)
    for stream in (2, 4):
        high &= _random(numbers, seed, stream)
        low &= _random(numbers, seed, stream + 1)
    leading = _random(numbers, seed, 6) % np.uint64(7) + np.uint64(1)
    return high >> np.uint64(8) * leading, low


def _equal(numbers: NDArray[np.uint64], seed: int) -> Keys:
    """Return one key, over and over."""
    return _uniform(np.zeros_like(numbers), seed)


def _skewed(numbers: NDArray[np.uint64], seed: int) -> Keys:
    """Return 100 different keys of which the k-th most frequent comes in proportion to 1/k."""
    frequencies = 1 / np.arange(1, _ZIPF_KEYS + 1)
    bounds = np.cumsum(frequencies[:-1]) / frequencies.sum()
    draws = (_random(numbers, seed, 7) >> np.uint64(11)) * 2.0**-53
    return _uniform(np.searchsorted(bounds, draws, side="right").astype(np.uint64), seed)


def _ascending(numbers: NDArray[np.uint64], _seed: int) -> Keys:
    """Return the record's number as its key: sorted already, and equal in its first bytes."""
    return numbers, np.zeros_like(numbers)


_BINARY_KEYS: Final[dict[str, Callable[[NDArray[np.uint64], int], Keys]]] = {
    "uniform": _uniform,
    "nul": _nul,
    "equal": _equal,
    "skewed": _skewed,
    "sorted": _ascending,
}

KINDS: Final = ("ascii", *_BINARY_KEYS)
