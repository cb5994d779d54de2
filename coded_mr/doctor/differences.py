"""Where two results that should be equal differ first."""

from __future__ import annotations

import math
from itertools import zip_longest

from coded_mr.kernels import Kernel
from coded_mr.kernels.serial import shown

__all__ = ["first_difference", "nearly_equal", "value_difference"]


def value_difference(kernel: Kernel, first: bytes | memoryview, second: bytes | memoryview) -> str:
    """Say where two intermediate values of one batch differ first."""
    contents = zip_longest(kernel.contents(first), kernel.contents(second))
    one, other = next(pair for pair in contents if repr(pair[0]) != repr(pair[1]))
    return " and ".join("nothing" if item is None else shown(item) for item in (one, other))


def first_difference(first: bytes, second: bytes) -> str:
    """Say which line of two outputs differs first."""
    lines = zip_longest(first.split(b"\n"), second.split(b"\n"))
    number, (one, other) = next((n, pair) for n, pair in enumerate(lines, 1) if pair[0] != pair[1])
    return f"line {number}: {shown(one)} and {shown(other)}"


def nearly_equal(first: bytes, second: bytes) -> bool:
    """Tell whether two outputs differ in the last digits of some numbers only."""
    fields = zip_longest(first.split(), second.split())
    return all(one == other or _close(one, other) for one, other in fields)


def _close(one: bytes | None, other: bytes | None) -> bool:
    if one is None or other is None:
        return False
    try:
        return math.isclose(float(one), float(other), rel_tol=1e-9)
    except ValueError:
        return False
