"""Packets of several rows: linear combinations over GF(2^8) that a receiver solves for what it lacks.

Row i has the coefficient g^(i j) on term j, g a generator: a Vandermonde matrix, any columns of which are
independent as far as its rows reach. The field is that of the polynomial x^8+x^4+x^3+x^2+1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from coded_mr.engine.packet import Array, Bytes, joined

__all__ = ["combine", "solve"]

_POLYNOMIAL = 0x11D


def combine(members: Sequence[Sequence[Bytes]], out: Array) -> None:
    """Write the combinations of the members into the rows of `out`, shape (rows, longest member)."""
    out[:] = 0
    _add(out, list(enumerate(map(joined, members))))


def solve(
    payload: Array, known: Sequence[tuple[int, Sequence[Bytes]]], lacking: Sequence[int]
) -> list[Array]:
    """Return the members with the indices `lacking`, padded, from a payload of shape (rows, longest).

    `known` gives index and parts of every other member. The payload is overwritten.
    """
    _add(payload, [(index, joined(member)) for index, member in known])
    inverse = _inverse([[_power(row * index) for index in lacking] for row in range(len(lacking))])
    found = []
    for coefficients in inverse:
        member = np.zeros(payload.shape[1], dtype=np.uint8)
        for row, coefficient in enumerate(coefficients):
            _add_scaled(member, payload[row], coefficient)
        found.append(member)
    return found


def _add(rows: Array, members: Sequence[tuple[int, Array]]) -> None:
    for row, target in enumerate(rows):
        for index, member in members:
            _add_scaled(target[: member.size], member, _power(row * index))


def _add_scaled(target: Array, data: Array, coefficient: int) -> None:
    scaled = data if coefficient == 1 else np.take(_products()[coefficient], data)
    np.bitwise_xor(target, scaled, out=target)


def _power(exponent: int) -> int:
    return _logarithms()[0][exponent % 255]


@cache
def _logarithms() -> tuple[list[int], list[int]]:
    """Return the powers of the generator 2, and the logarithm of every element that is not 0."""
    powers, logarithms = [], [0] * 256
    element = 1
    for exponent in range(255):
        powers.append(element)
        logarithms[element] = exponent
        element <<= 1
        if element & 0x100:
            element ^= _POLYNOMIAL
    return powers, logarithms


def _times(a: int, b: int) -> int:
    powers, logarithms = _logarithms()
    return powers[(logarithms[a] + logarithms[b]) % 255] if a and b else 0


@cache
def _products() -> npt.NDArray[np.uint8]:
    """Return the multiplication table, shape (256, 256)."""
    return np.array([[_times(a, b) for b in range(256)] for a in range(256)], dtype=np.uint8)


def _inverse(matrix: list[list[int]]) -> list[list[int]]:
    """Return the inverse of a square matrix by Gauss-Jordan elimination."""
    size = len(matrix)
    rows = [[*row, *(int(i == j) for j in range(size))] for i, row in enumerate(matrix)]
    powers, logarithms = _logarithms()
    for column in range(size):
        pivot = next(row for row in range(column, size) if rows[row][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        scale = powers[-logarithms[rows[column][column]] % 255]
        rows[column] = [_times(scale, entry) for entry in rows[column]]
        for other in range(size):
            factor = rows[other][column]
            if other != column and factor:
                rows[other] = [a ^ _times(factor, b) for a, b in zip(rows[other], rows[column], strict=True)]
    return [row[size:] for row in rows]
