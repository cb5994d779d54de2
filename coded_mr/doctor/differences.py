"""Where two results that should be equal differ first."""

from __future__ import annotations

import math
from itertools import chain, repeat, zip_longest

from coded_mr.job import Job, RecordJob
from coded_mr.kernels.serial import decode, shown

__all__ = ["first_difference", "nearly_equal", "value_difference"]


def value_difference(job: Job | RecordJob, first: bytes | memoryview, second: bytes | memoryview) -> str:
    """Say where two intermediate values of one batch differ first."""
    if isinstance(job, RecordJob):
        size = job.out_bytes or job.record_bytes
        pieces = [
            [bytes(data[at : at + size]) for at in range(0, len(data), size)] for data in (first, second)
        ]
        number, (one, other) = next(
            (number, pair) for number, pair in enumerate(zip_longest(*pieces)) if pair[0] != pair[1]
        )
        return f"record {number}: {shown(one)} and {shown(other)}"
    one, other = next(
        pair for pair in zip_longest(_pairs(first), _pairs(second)) if repr(pair[0]) != repr(pair[1])
    )
    return f"{_pair(one)} and {_pair(other)}"


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


def _pairs(data: bytes | memoryview) -> list[tuple[object, object]]:
    keys, counts, values = decode(data)
    owners = keys if counts is None else chain.from_iterable(map(repeat, keys, counts))
    return list(zip(owners, values, strict=True))


def _pair(pair: tuple[object, object] | None) -> str:
    return "nothing" if pair is None else shown(pair)
