"""Check groups of values against the plain way: a dictionary of lists by canonical key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import KeyTypeError
from coded_mr.kernels import grouping
from coded_mr.kernels.grouping import Groups
from coded_mr.kernels.serial import canonical, decode, order_keys

WORDS = st.text("abc", max_size=2)
KEYS = st.one_of(WORDS, WORDS.map(str.encode), st.integers(-2, 2), st.sampled_from([1.0, True, None, (1,)]))
PAIRS = st.one_of(st.lists(st.tuples(kind, st.integers())) for kind in (WORDS, st.integers(-9, 9), KEYS))


def refuse(item: object) -> Exception:
    return AssertionError(item)


def grouped(portions: list[list[tuple[Any, int]]]) -> Groups:
    groups = Groups()
    for pairs in portions:
        assert groups.add_all(iter(pairs), refuse) == len(pairs)
    return groups


def plainly(portions: list[list[tuple[Any, int]]]) -> list[tuple[bytes, list[int]]]:
    values: dict[bytes, list[int]] = {}
    keys: dict[bytes, Any] = {}
    for key, value in (pair for pairs in portions for pair in pairs):
        values.setdefault(canonical(key), []).append(value)
        keys[canonical(key)] = key
    places = dict(zip(keys, order_keys([*keys.values(), None, ()]), strict=False))
    return sorted(values.items(), key=lambda item: places[item[0]])


def shown(groups: Groups) -> list[tuple[bytes, list[int]]]:
    keys, lists = groups.ordered()
    return [(canonical(key), values) for key, values in zip(keys, lists, strict=True)]


@pytest.fixture(params=[1, 2, 256])
def few_together(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "_TOGETHER", request.param)


@pytest.mark.usefixtures("few_together")
def test_groups_are_those_of_a_dictionary_of_lists() -> None:
    @given(st.lists(PAIRS, max_size=3))
    def check(portions: list[list[tuple[Any, int]]]) -> None:
        groups = grouped(portions)
        assert shown(groups) == plainly(portions)
        assert groups.pairs == sum(map(len, portions))
        assert len(groups) == len(plainly(portions))

    check()


@given(st.lists(PAIRS, max_size=3), st.integers(1, 3))
def test_encoded_groups_come_back_from_their_partitions(
    portions: list[list[tuple[Any, int]]], partitions: int
) -> None:
    groups = grouped(portions)
    data, counts = groups.encoded(lambda keys: [len(canonical(key)) % partitions for key in keys], partitions)
    assert sum(counts) == groups.pairs
    back = Groups()
    for q, value in enumerate(data):
        assert all(len(canonical(key)) % partitions == q for key in decode(value)[0])
        back.add_encoded(value)
    assert shown(back) == plainly(portions)
    assert back.pairs == groups.pairs
    for value in data:
        back.add_encoded(value)
    assert shown(back) == [(key, values * 2) for key, values in plainly(portions)]


@given(st.lists(PAIRS, max_size=3), PAIRS)
def test_combined_groups_hold_one_value_a_key_and_take_more(
    portions: list[list[tuple[Any, int]]], later: list[tuple[Any, int]]
) -> None:
    groups = grouped(portions)
    groups.combine(lambda key, values: sum(values))
    sums = [(key, [sum(values)]) for key, values in plainly(portions)]
    assert shown(groups) == sums
    assert groups.pairs == len(groups) == len(sums)
    groups.add_all(later, refuse)
    groups.combine(lambda key, values: sum(values))
    assert shown(groups) == [(key, [sum(values)]) for key, values in plainly([*portions, later])]


@pytest.mark.usefixtures("few_together")
def test_what_came_before_an_exception_is_counted() -> None:
    def failing() -> Iterator[tuple[str, int]]:
        for number in range(300):
            yield str(number), number
        raise OSError("gone")

    groups = Groups()
    with pytest.raises(OSError, match="gone"):
        groups.add_all(failing(), refuse)
    assert groups.pairs == len(groups) == 300


@pytest.mark.parametrize("wrong", [("a",), ["a", 1], None, "ab", ("a", 1, 2)])
def test_the_first_item_that_is_no_pair_is_the_one_refused(wrong: object) -> None:
    items: list[Any] = [("a", 1), wrong, "later"]
    with pytest.raises(AssertionError) as caught:
        Groups().add_all(items, refuse)
    assert caught.value.args == (wrong,)


@pytest.mark.parametrize(
    "give",
    [
        lambda groups: groups.add_all([("b", 1), ("a", [1, 2])], refuse),
        lambda groups: (
            groups.add_all([("a", 1), ("a", 2)], refuse),
            groups.combine(lambda key, values: [1, 2]),
        ),
    ],
)
def test_a_list_is_refused_as_a_value(give: Callable[[Groups], object]) -> None:
    with pytest.raises(KeyTypeError, match=r"the value \[1, 2\] of key 'a': type list .*tuple"):
        give(Groups())
