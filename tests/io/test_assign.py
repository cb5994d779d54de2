"""Assigning files to batches: once each, near their shares, the same every time."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import PlanError
from coded_mr.io import InputFile
from coded_mr.io.inputs import assign


def files_of(weights: list[int]) -> list[InputFile]:
    return [InputFile(i, "a", 0, weight, None, weight=weight) for i, weight in enumerate(weights)]


def shares_of(parts: list[int]) -> list[Fraction]:
    return [Fraction(part, sum(parts)) for part in parts]


all_weights = st.lists(st.integers(0, 1000), max_size=80)
all_shares = st.lists(st.integers(0, 12), min_size=1, max_size=12).filter(any).map(shares_of)


@given(all_weights, all_shares)
def test_every_file_is_in_exactly_one_batch_in_order(weights: list[int], shares: list[Fraction]) -> None:
    batches = assign(files_of(weights), shares)
    assert len(batches) == len(shares)
    assert sorted(index for batch in batches for index in batch) == list(range(len(weights)))
    assert all(batch == sorted(batch) for batch in batches)
    assert batches == assign(files_of(weights), shares)


@given(all_weights, all_shares)
def test_a_batch_misses_its_share_by_less_than_the_heaviest_file(
    weights: list[int], shares: list[Fraction]
) -> None:
    batches = assign(files_of(weights), shares)
    for batch, share in zip(batches, shares, strict=True):
        miss = abs(sum(weights[index] for index in batch) - share * sum(weights))
        assert miss < max(weights, default=0) or miss == 0
        assert share > 0 or not batch


@given(st.integers(1, 20), st.integers(1, 20), st.integers(0, 1000))
def test_equal_files_and_shares_give_equal_counts(batches: int, each: int, weight: int) -> None:
    spread = assign(files_of([weight] * (batches * each)), [Fraction(1, batches)] * batches)
    assert {len(batch) for batch in spread} == {each}


def test_files_without_weight_go_round_the_batches_with_a_share() -> None:
    spread = assign(files_of([0] * 6), [Fraction(1, 2), Fraction(0), Fraction(1, 2)])
    assert spread == [[0, 2, 4], [], [1, 3, 5]]


def test_a_hundred_thousand_files_over_three_thousand_batches() -> None:
    weights = [100 + index % 7 for index in range(100_000)]
    spread = assign(files_of(weights), [Fraction(1, 3000)] * 3000)
    loads = [sum(weights[index] for index in batch) for batch in spread]
    assert max(loads) - min(loads) <= 106


@pytest.mark.parametrize("shares", [[], [Fraction(1, 2)], [Fraction(3, 2), Fraction(-1, 2)]])
def test_shares_must_sum_to_one(shares: list[Fraction]) -> None:
    with pytest.raises(PlanError, match="sum to"):
        assign(files_of([1]), shares)
