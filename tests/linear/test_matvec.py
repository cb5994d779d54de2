"""y = A x is decoded within the stated bound from whoever answers first, in every order."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coded_mr.errors import UsageError
from coded_mr.linear.allocation_rules import (
    Allocation,
    Rule,
    best,
    optimal,
    replication,
    tolerant,
    uncoded,
    uniform,
)
from coded_mr.linear.arrays import real_matrix, real_operand
from coded_mr.linear.collecting import Coding, Collected, default_height, multiply
from coded_mr.theory.load_allocation import Group

GROUPS = (Group(2, 3.0, 0.3), Group(4, 1.0, 0.5))
RULES: list[Rule] = [
    uncoded,
    uniform(0.5),
    tolerant(2),
    replication(2),
    replication(4),
    optimal(GROUPS),
    best(GROUPS),
]


def random_matrix(p: int, q: int, dtype: Any = np.float64) -> Any:
    return np.random.default_rng(p).standard_normal((p, q)).astype(dtype)


def collect(coding: Coding, products: list[Any], x: Any, order: Any) -> tuple[Collected, int]:
    """Return the product and how many workers were listened to."""
    collector = coding.collector(x)
    for heard, worker in enumerate(order, 1):
        if collector.add(worker, products[worker]):
            return collector.result(), heard
    raise AssertionError("never enough")


@settings(max_examples=60)
@given(
    rule=st.sampled_from(RULES),
    order=st.permutations(range(6)),
    p=st.integers(1, 60),
    height=st.none() | st.integers(1, 9),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_every_order_of_arrival_gives_the_product(
    rule: Rule, order: list[int], p: int, height: int | None, dtype: Any
) -> None:
    A, x = random_matrix(p, 4, dtype), random_matrix(4, 3, dtype)
    coding = Coding(A, 6, rule, height=height)
    products = [coding.rows_of(worker) @ x for worker in range(6)]
    found, heard = collect(coding, products, x, order)
    exact = A.astype(np.float64) @ x.astype(np.float64)
    assert found.y.dtype == dtype
    assert np.abs(found.y - exact).max() <= found.bound
    assert found.finishers == tuple(order[:heard])
    before = {row for worker in order[: heard - 1] for row in coding.allocation.rows[worker]}
    assert len(before) < coding.allocation.k


def test_any_two_of_five_may_be_missing() -> None:
    A, x = random_matrix(10, 3), random_matrix(3, 1)[:, 0]
    coding = Coding(A, 5, tolerant(2))
    products = [coding.rows_of(worker) @ x for worker in range(5)]
    for order in permutations(range(5), 3):
        found, _ = collect(coding, products, x, order)
        assert np.abs(found.y - A @ x).max() <= found.bound


def test_later_answers_change_nothing() -> None:
    A, x = random_matrix(8, 3), random_matrix(3, 1)
    coding = Coding(A, 3, tolerant(1))
    collector = coding.collector(x)
    assert not collector.add(2, coding.rows_of(2) @ x)
    assert collector.add(0, coding.rows_of(0) @ x)
    assert collector.add(1, np.full((4, 1), np.nan))
    assert collector.result().finishers == (2, 0)
    assert np.isfinite(collector.result().y).all()


def test_plain_rows_come_back_bit_for_bit() -> None:
    A, x = random_matrix(12, 5), random_matrix(5, 1)
    coding = Coding(A, 4, tolerant(1))
    products = [coding.rows_of(worker) @ x for worker in range(4)]
    found, _ = collect(coding, products, x, (2, 0, 1))
    assert found.missing == 0
    assert np.array_equal(found.y, np.concatenate(products[:3]))


def test_too_few_answers_are_refused() -> None:
    coding = Coding(random_matrix(8, 3), 3, uncoded)
    with pytest.raises(UsageError, match="0 coded rows have arrived"):
        coding.collector(np.ones(3)).result()


def test_rule_that_can_never_finish_is_refused() -> None:
    short: Rule = lambda workers, k: Allocation("short", k, (range(k - 1), range(1, k - 1)))  # noqa: E731
    with pytest.raises(UsageError, match="never finish"):
        Coding(random_matrix(8, 3), 2, short)


@pytest.mark.parametrize("height", [0, -1, 1.5, True])
def test_wrong_heights_are_refused(height: Any) -> None:
    with pytest.raises(UsageError, match="height"):
        Coding(random_matrix(8, 3), 2, uncoded, height=height)


def test_default_height_makes_at_most_256_pieces() -> None:
    for rows in (1, 255, 256, 257, 10_000):
        assert -(-rows // default_height(rows)) <= 256


def test_multiply_stops_when_unwanted() -> None:
    stored, x = random_matrix(9, 2), random_matrix(2, 1)
    ranges = [range(1, 3), range(3, 3), range(7, 9)]
    assert np.array_equal(multiply(stored, x, ranges), np.concatenate([stored[1:3], stored[7:9]]) @ x)
    assert multiply(stored, x, ranges, lambda: True) is None


def test_whole_numbers_are_taken_as_float64() -> None:
    assert real_matrix([[1, 2]], "A").dtype == np.float64
    assert real_operand(np.array([True, False]), "x", 2).dtype == np.float64
    assert real_matrix(np.array([[2**53]]), "A")[0, 0] == 2.0**53
    with pytest.raises(UsageError, match="A holds whole numbers above 2\\^53"):
        real_matrix(np.array([[-(2**53) - 1]]), "A")


def test_wrong_arrays_are_refused_by_name() -> None:
    for wrong in (np.zeros(2), np.zeros((0, 2)), np.array([[1j]]), [["a"]], np.array([[np.inf]])):
        with pytest.raises(UsageError, match=r"^matrix "):
            real_matrix(wrong, "matrix")
    for wrong in (np.zeros(3), np.zeros((2, 0)), np.zeros((2, 1, 1)), np.array([np.nan, 0])):
        with pytest.raises(UsageError, match=r"^vector "):
            real_operand(wrong, "vector", 2)
