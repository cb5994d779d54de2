"""Check that partitions in a row are sorted, balanced for any distribution of keys, and reproducible."""

from __future__ import annotations

import pickle
from bisect import bisect_left, bisect_right
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from coded_mr.errors import UsageError
from coded_mr.terasort.kinds import KINDS, make_records
from coded_mr.terasort.splitters import Splitters, make_splitters

heads = [b"\0" * 8, b"\0" * 7 + b"\1", b"\xff" * 8, b"A" * 8]
tails = [b"\0\0", b"\0\1", b"\1\0", b"\xff\xff"]
crowded = st.tuples(st.sampled_from(heads), st.sampled_from(tails)).map(b"".join)
key_lists = st.lists(st.one_of(crowded, st.binary(min_size=10, max_size=10)), max_size=50)


def with_keys(chosen: list[bytes]) -> NDArray[np.uint8]:
    records = make_records("ascii", 0, len(chosen))
    for row, key in zip(records, chosen, strict=True):
        row[:10] = np.frombuffer(key, np.uint8)
    return records


def keys_of(records: NDArray[np.uint8]) -> list[bytes]:
    return [bytes(row[:10]) for row in records]


def sizes(splitters: Splitters, records: NDArray[np.uint8]) -> NDArray[np.int64]:
    return np.bincount(splitters.partition(records), minlength=splitters.partitions)


@given(key_lists, st.integers(1, 12))
def test_splitters_are_order_statistics_of_the_sample(chosen: list[bytes], partitions: int) -> None:
    ranked = sorted(chosen)
    expected = [ranked[len(ranked) * cut // partitions] for cut in range(1, partitions)] if ranked else []
    assert make_splitters(with_keys(chosen), partitions).keys() == expected


@given(key_lists, key_lists, st.integers(1, 12))
def test_records_go_where_the_plain_rule_allows(
    sample: list[bytes], data: list[bytes], partitions: int
) -> None:
    splitters = make_splitters(with_keys(sample), partitions)
    bounds = splitters.keys()
    found = splitters.partition(with_keys(data)).tolist()
    assert all(
        bisect_left(bounds, key) <= partition <= bisect_right(bounds, key)
        for key, partition in zip(data, found, strict=True)
    )


@given(st.lists(crowded, min_size=1, max_size=60), st.integers(1, 12))
def test_partitions_of_the_sample_itself_are_equal_up_to_one_record_a_key(
    chosen: list[bytes], partitions: int
) -> None:
    records = with_keys(chosen)
    found = sizes(make_splitters(records, partitions), records)
    assert np.abs(found - len(chosen) / partitions).max() <= 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("partitions", [1, 3, 16, 100])
def test_each_kind_is_balanced_and_in_order(kind: str, partitions: int) -> None:
    records = make_records(kind, 0, 60_000)
    sample = records[np.random.default_rng(0).permutation(60_000)[:20_000]]
    splitters = make_splitters(sample, partitions)
    found = splitters.partition(records)
    share = 60_000 / partitions
    assert np.abs(sizes(splitters, records) - share).max() < 6 * np.sqrt(3 * share)
    in_parts = [keys_of(records[found == part]) for part in range(partitions)]
    filled = [part for part in in_parts if part]
    assert all(max(left) <= min(right) for left, right in pairwise(filled))


@pytest.mark.parametrize("partitions", [1, 2, 7, 16, 300])
@pytest.mark.parametrize("count", [0, 1, 5, 16, 1_000])
@pytest.mark.parametrize("sampled", [1, 10, 997])
def test_one_key_is_shared_out_evenly(partitions: int, count: int, sampled: int) -> None:
    splitters = make_splitters(make_records("equal", 0, sampled), partitions)
    found = sizes(splitters, make_records("equal", 5_000, count))
    assert found.sum() == count
    assert found.max() - found.min() <= 1


def test_heavy_key_fills_up_partitions_that_it_shares_with_others() -> None:
    middle, low, high = b"M" * 10, b"B" * 10, b"Y" * 10
    chosen = [low] * 1_500 + [middle] * 5_000 + [high] * 3_500
    splitters = make_splitters(with_keys(chosen), 4)
    assert splitters.keys() == [middle, middle, high]
    assert sizes(splitters, with_keys(chosen)).tolist() == [2_500] * 4
    assert sizes(splitters, with_keys([middle] * 100)).tolist() == [20, 50, 30, 0]
    assert sizes(splitters, with_keys([middle])).tolist() == [0, 1, 0, 0]


def test_equal_keys_are_spread_in_the_order_of_the_array() -> None:
    splitters = make_splitters(make_records("equal", 0, 8), 4)
    assert splitters.partition(make_records("equal", 0, 8)).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_interleaved_heavy_keys_are_each_spread_in_the_order_of_the_array() -> None:
    records = with_keys([b"A" * 10, b"B" * 10] * 500)
    found = make_splitters(records, 10).partition(records).reshape(500, 2)
    assert (found == np.repeat([[0, 5], [1, 6], [2, 7], [3, 8], [4, 9]], 100, axis=0)).all()


def test_fewer_records_than_partitions() -> None:
    records = make_records("ascii", 0, 7)
    splitters = make_splitters(records, 8)
    assert len(splitters.keys()) == 7
    ordered = records[sorted(range(7), key=lambda index: bytes(records[index, :10]))]
    found = splitters.partition(ordered).tolist()
    assert found == sorted(found)
    assert sizes(splitters, records).max() <= 2


@pytest.mark.parametrize("partitions", [1, 5])
def test_empty_sample_sends_everything_to_the_first_partition(partitions: int) -> None:
    splitters = make_splitters(make_records("ascii", 0, 0), partitions)
    assert splitters.keys() == []
    assert splitters.partition(make_records("ascii", 0, 0)).tolist() == []
    assert splitters.partition(make_records("ascii", 0, 3)).tolist() == [0, 0, 0]


def test_nul_bytes_at_the_end_of_a_key_count() -> None:
    short, long = b"A" * 8 + b"\0\0", b"A" * 8 + b"\0\1"
    splitters = make_splitters(with_keys([short, long]), 2)
    assert splitters.keys() == [long]
    assert splitters.partition(with_keys([long, short])).tolist()[1] == 0


def test_many_partitions_have_numbers_that_fit() -> None:
    records = make_records("equal", 0, 70_000)
    assert (make_splitters(records[:10], 70_000).partition(records) == np.arange(70_000)).all()


def test_copy_by_pickle_is_small_and_partitions_alike() -> None:
    records = make_records("skewed", 0, 5_000)
    splitters = make_splitters(records, 16)
    copied = pickle.dumps(splitters)
    assert len(copied) < 4_000
    assert (pickle.loads(copied).partition(records) == splitters.partition(records)).all()


def test_order_of_the_sample_does_not_matter() -> None:
    records = make_records("skewed", 0, 3_000)
    assert make_splitters(records, 9).shares == make_splitters(records[::-1], 9).shares


def test_no_partitions_are_refused() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        make_splitters(make_records("ascii", 0, 10), 0)
