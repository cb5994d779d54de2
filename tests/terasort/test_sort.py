"""Compare sort_records with Python's stable sort by the 10-byte key."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from coded_mr.terasort.kinds import KINDS, make_records
from coded_mr.terasort.sort import sort_records, sorted_order

few_bytes = st.sampled_from([0, 1, 127, 128, 255])
keys = st.lists(few_bytes, min_size=10, max_size=10).map(bytes)
close_keys = st.tuples(st.sampled_from([bytes(7), b"\xff" * 7]), st.binary(min_size=3, max_size=3))
any_keys = st.one_of(st.binary(min_size=10, max_size=10), keys, close_keys.map(b"".join))


def with_keys(chosen: list[bytes]) -> NDArray[np.uint8]:
    records = make_records("ascii", 0, len(chosen))
    for row, key in zip(records, chosen, strict=True):
        row[:10] = np.frombuffer(key, np.uint8)
    return records


def plain_order(records: NDArray[np.uint8]) -> list[int]:
    return sorted(range(len(records)), key=lambda index: bytes(records[index, :10]))


@given(st.lists(any_keys, max_size=60))
def test_order_is_that_of_a_plain_stable_sort(chosen: list[bytes]) -> None:
    records = with_keys(chosen)
    assert sorted_order(records).tolist() == plain_order(records)


@given(st.lists(st.sampled_from([b"\0" * 10, b"\0" * 9 + b"\1", b"\xff" * 10, b"\0\1" + b"\0" * 8])))
def test_duplicates_keep_their_order(chosen: list[bytes]) -> None:
    records = with_keys(chosen)
    assert sorted_order(records).tolist() == plain_order(records)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_sorted_stably(kind: str) -> None:
    records = make_records(kind, 0, 20_000)[np.random.default_rng(0).permutation(20_000)]
    order = plain_order(records)
    assert sorted_order(records).tolist() == order
    assert (sort_records(records) == records[order]).all()


def test_keys_that_differ_behind_the_prefix_only_are_sorted() -> None:
    records = make_records("uniform", 0, 5_000)
    records[:, 1:7] = 0
    records[:, 0] %= 4
    assert sorted_order(records).tolist() == plain_order(records)


def test_last_two_bytes_count() -> None:
    records = with_keys([b"A" * 8 + b"\xff\x00", b"A" * 8 + b"\x00\xff", b"A" * 8 + b"\x00\x00"])
    assert sorted_order(records).tolist() == [2, 1, 0]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_records(count: int) -> None:
    records = make_records("ascii", 0, count)
    assert sort_records(records).tolist() == records[plain_order(records)].tolist()


def test_input_may_be_read_only_and_scattered() -> None:
    wide = np.random.default_rng(1).integers(0, 256, (300, 130), np.uint8)
    wide.flags.writeable = False
    records = wide[::-3, 7:107]
    before = records.copy()
    assert (sort_records(records) == before[plain_order(before)]).all()
    assert (records == before).all()


def test_output_goes_where_it_is_asked_for() -> None:
    records = make_records("ascii", 0, 50)
    out = np.empty_like(records)
    assert sort_records(records, out) is out
    assert (out == sort_records(records)).all()
