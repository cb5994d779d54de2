"""Step gensort's random number generator: X' = (a X + c) mod 2^128, from X = 0.

The n-th state is reached by squaring the affine map, a run of states by doubling: the map composed k
times turns the first k states into the next k, as one vector operation on 64-bit halves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["states"]

_WORD = (1 << 64) - 1
_MODULUS_MASK = (1 << 128) - 1
_HALF = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)


class _Affine(NamedTuple):
    """Be the map X -> (a X + c) mod 2^128."""

    a: int
    c: int

    def after(self, first: _Affine) -> _Affine:
        """Return the map that applies `first`, then this one."""
        return _Affine(self.a * first.a & _MODULUS_MASK, (self.a * first.c + self.c) & _MODULUS_MASK)


_STEP = _Affine(0x2360ED051FC65DA44385DF649FCCF645, 0x4A696D47726179524950202020202001)


def states(first: int, count: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the high and low 64-bit halves of the states of records first .. first+count-1.

    Record i uses the (i+1)-th state. `first` and `count` are at least 0.
    """
    high = np.empty(count, np.uint64)
    low = np.empty(count, np.uint64)
    if count:
        start = _power(first + 1).c
        high[0], low[0] = start >> 64, start & _WORD
    jump, done = _STEP, 1
    while done < count:
        more = min(done, count - done)
        high[done : done + more], low[done : done + more] = _apply(jump, high[:more], low[:more])
        jump, done = jump.after(jump), done + more
    return high, low


def _power(times: int) -> _Affine:
    """Return the generator's step composed `times` times, by squaring."""
    result, square = _Affine(1, 0), _STEP
    while times:
        if times & 1:
            result = square.after(result)
        square, times = square.after(square), times >> 1
    return result


def _apply(
    step: _Affine, high: NDArray[np.uint64], low: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return step(high 2^64 + low), elementwise mod 2^128, from products of 32-bit halves."""
    a_high, a_low = np.uint64(step.a >> 64), np.uint64(step.a & _WORD)
    a1, a0 = a_low >> _SHIFT, a_low & _HALF
    x1, x0 = low >> _SHIFT, low & _HALF
    cross, swapped = x0 * a1, x1 * a0
    middle = (x0 * a0 >> _SHIFT) + (cross & _HALF) + (swapped & _HALF)
    carried = x1 * a1 + (cross >> _SHIFT) + (swapped >> _SHIFT) + (middle >> _SHIFT)
    c_high, c_low = np.uint64(step.c >> 64), np.uint64(step.c & _WORD)
    new_low = low * a_low + c_low
    new_high = carried + high * a_low + low * a_high + c_high + (new_low < c_low)
    return new_high, new_low
