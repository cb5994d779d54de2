"""Measuring again what others may have disturbed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from coded_mr.engine.repeating import fastest


@pytest.mark.parametrize(
    ("times", "count", "shortest"),
    [
        ([3.0, 3.1, 1.0], 2, [3.0]),
        ([9.0, 3.0, 3.2, 1.0], 3, [3.0]),
        ([9.0, 5.0, 3.0, 1.0, 0.5], 4, [1.0]),
        ([[1.0, 5.0], [1.0, 2.0], [7.0, 2.0], [0.0, 0.0]], 3, [1.0, 2.0]),
        ([0.0, 0.0, 1.0], 2, [0.0]),
        ([70.0, 31.0, 3.0], 2, [31.0]),
        ([60.0, 30.0, 11.0, 3.0], 3, [11.0]),
    ],
)
def test_it_is_measured_until_two_are_alike(times: list, count: int, shortest: list[float]) -> None:
    left: Iterator = iter(times)
    assert fastest(lambda: next(left), 100.0).reshape(-1).tolist() == shortest
    assert len(list(left)) == len(times) - count
