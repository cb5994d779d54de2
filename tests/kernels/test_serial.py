"""Check that canonical bytes keep types, order and equality."""

from __future__ import annotations

import math
import struct
from enum import IntEnum
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import KeyTypeError, PacketError
from coded_mr.kernels.serial import canonical, decode, encode, order_keys, stable_hash, stable_hashes

TEXT = st.text(max_size=8)
HUGE = st.integers(-(1 << 200), 1 << 200)
SCALARS = st.one_of(TEXT, st.binary(max_size=8), st.integers(), HUGE, st.floats(), st.booleans(), st.none())
ITEMS = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4).map(tuple), max_leaves=8)
RANKS = [type(None), bool, int, float, bytes, str, tuple]


class Colour(IntEnum):
    RED = 1


def typed(item: Any) -> Any:
    """Return something that == tells apart exactly when types or bits differ."""
    if isinstance(item, tuple):
        return (tuple, tuple(map(typed, item)))
    if isinstance(item, float):
        return (float, struct.pack(">d", item))
    return (type(item), item)


def compare(a: Any, b: Any) -> int:
    """Compare two keys as the definition of the canonical order reads."""
    if type(a) is not type(b):
        return RANKS.index(type(a)) - RANKS.index(type(b))
    if isinstance(a, tuple):
        return next((c for c in map(compare, a, b) if c), len(a) - len(b))
    if isinstance(a, float) and (math.isnan(a) or math.isnan(b) or a == b == 0):
        return int(math.isnan(a)) - int(math.isnan(b)) or int(math.copysign(1, a) - math.copysign(1, b))
    return 0 if a is None or a == b else -1 if a < b else 1


@given(st.lists(st.tuples(ITEMS, st.lists(ITEMS, min_size=1, max_size=3)), max_size=6))
def test_decode_gives_back_what_was_encoded(groups: list[tuple[Any, list[Any]]]) -> None:
    keys = [key for key, _ in groups]
    counts = [len(values) for _, values in groups]
    flat = [value for _, values in groups for value in values]
    got_keys, got_counts, got_values = decode(encode(keys, counts, flat))
    assert list(map(typed, got_keys)) == list(map(typed, keys))
    assert list(map(typed, got_values)) == list(map(typed, flat))
    assert got_counts == (counts if keys else None)


def test_no_keys_are_no_bytes() -> None:
    assert encode([], None, []) == b""
    assert decode(b"") == ([], None, [])


def test_single_values_carry_no_counts() -> None:
    assert encode(["a", "b"], None, [1, 2]) == msgspec.msgpack.encode([["a", "b"], None, [1, 2]])


@given(ITEMS, ITEMS)
def test_canonical_bytes_are_equal_only_for_equal_types_and_values(a: Any, b: Any) -> None:
    assert (canonical(a) == canonical(b)) == (typed(a) == typed(b))


def test_numbers_that_are_equal_across_types_are_different_keys() -> None:
    items = [1, 1.0, True, 0, 0.0, -0.0, False, None, "", b"", (), (1,), (1.0,), (True,), "1", b"1"]
    assert len(set(map(canonical, items))) == len(items)
    assert canonical(math.nan) == canonical(float("nan"))


@given(st.lists(ITEMS, max_size=12, unique_by=canonical))
def test_the_order_is_the_one_defined(keys: list[Any]) -> None:
    order = order_keys(keys)
    got = [key for _, key in sorted(zip(order, keys, strict=True), key=lambda item: item[0])]
    if not any("nan" in repr(key) for key in keys):
        assert list(map(typed, got)) == list(map(typed, sorted(keys, key=cmp_to_key(compare))))
    assert all(compare(a, b) <= 0 for a, b in pairwise(got))


@given(st.lists(ITEMS, min_size=2, max_size=12, unique_by=canonical))
def test_the_order_has_no_ties(keys: list[Any]) -> None:
    ranked = sorted(order_keys(keys))
    assert all(a < b for a, b in pairwise(ranked))


@pytest.mark.parametrize(
    "keys",
    [
        ["b", "a", "\U00010000", "\uffff"],
        [b"\xff", b"", b"a"],
        [1 << 80, -5, 0],
        [("b", 2), ("a", 10), ("a", 9)],
        [(1, "x"), (1.0, "x"), (True, "x"), (1,)],
        [math.nan, math.inf, -math.inf, 0.0, -0.0],
    ],
)
def test_homogeneous_keys_are_in_the_same_order_as_among_others(keys: list[Any]) -> None:
    alone = sorted(range(len(keys)), key=order_keys(keys).__getitem__)
    among = order_keys([*keys, None])
    assert alone == sorted(range(len(keys)), key=among.__getitem__)


@pytest.mark.parametrize(
    ("key", "data", "number"),
    [
        ("word", b"\xa4word", 0xA1306446),
        (b"word", b"\xc4\x04word", 0x2C8EF1CC),
        (7, b"\x07", 0x4C667A2E),
        (1 << 100, b"\xc7\x0d\x01\x10" + bytes(12), 0xB6C79D8E),
        (("a", 1), b"\x92\xa1a\x01", 0xE556AB14),
        (None, b"\xc0", 0x49662D3D),
    ],
)
def test_bytes_and_hash_are_the_same_for_ever(key: Any, data: bytes, number: int) -> None:
    assert canonical(key) == data
    assert stable_hash(key) == number


@given(st.lists(ITEMS, max_size=6))
def test_many_hashes_are_the_hashes_of_each(keys: list[Any]) -> None:
    assert stable_hashes(keys) == list(map(stable_hash, keys))


@pytest.mark.parametrize(
    ("key", "kind", "remedy"),
    [
        (np.int64(3), "numpy.int64", r"int\("),
        (np.float64(3), "numpy.float64", r"float\("),
        (["a"], "list", r"tuple\("),
        ({"a"}, "set", r"sorted\("),
        ({"a": 1}, "dict", r"items\(\)"),
        (Colour.RED, "Colour", r"int\("),
        (bytearray(b"a"), "bytearray", r"bytes\("),
        (("a", (1, [2])), "list", r"tuple\("),
        (1j, "complex", r"str\("),
        ("\ud800", "surrogate", "bytes"),
        (("x", "\ud800"), "surrogate", "bytes"),
    ],
)
def test_other_types_are_named_with_a_remedy(key: Any, kind: str, remedy: str) -> None:
    with pytest.raises(KeyTypeError, match=kind) as error:
        canonical(key)
    assert repr(key)[:60] in str(error.value)
    with pytest.raises(KeyTypeError, match=remedy):
        encode(["good", "bad"], [1, 2], [1, 2, key])


def test_a_value_that_cannot_travel_is_named_with_its_key() -> None:
    with pytest.raises(KeyTypeError, match=r"value \[2\] of key 'bad'"):
        encode(["good", "bad"], [2, 1], [1, 1, [2]])


def test_a_long_key_is_shortened_in_the_message() -> None:
    with pytest.raises(KeyTypeError) as error:
        canonical(["x" * 10_000])
    assert len(str(error.value)) < 300


def test_tuples_nested_too_deep_are_refused() -> None:
    key: Any = ()
    for _ in range(5_000):
        key = (key,)
    with pytest.raises(KeyTypeError, match="nested"):
        canonical(key)


@pytest.mark.parametrize("data", [b"\xc1", b"\x93\x90\xc0", msgspec.msgpack.encode({"a": 1})])
def test_damaged_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(PacketError, match="does not decode"):
        decode(data)
