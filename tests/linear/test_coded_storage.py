"""The storage of coded rows: every q servers hold enough of them, and nobody holds more than planned."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import UsageError
from coded_mr.linear import Storage, row_unit, share_rows, store
from coded_mr.theory.straggling import Setting, share_memory, tradeoff

Golden = Callable[[str], Any]


@st.composite
def storages(draw: st.DrawFn) -> Storage:
    """Draw a small storage."""
    K = draw(st.integers(1, 7))
    setting = Setting(K, draw(st.fractions(Fraction(1, K), 1, max_denominator=8)), draw(st.integers(1, 20)))
    point = draw(st.sampled_from(tradeoff(setting)))
    return store(point, draw(st.integers(1, 3)) * row_unit(point))


def check_paper(storage: Storage, expected: list[dict[str, list[int]]]) -> None:
    """Compare batches with the paper's, which count from 1."""
    found = [([k + 1 for k in owners], [row + 1 for row in rows]) for owners, rows in storage.batches]
    assert found == [(batch["T"], batch["rows"]) for batch in expected]


def test_the_papers_two_examples(golden: Golden) -> None:
    four, six = golden("straggling")["examples"]["K4"], golden("straggling")["examples"]["K6"]
    setting = Setting(four["K"], Fraction(four["mu"]), four["N"])
    for example in (four["min_bandwidth"], four["min_latency"]):
        check_paper(store(setting.point(example["q"]), four["m"]), example["storage"])
    check_paper(store(Setting(6, Fraction(1, 2), 12).point(six["q"]), six["m"]), six["storage"])


@given(storages())
def test_any_q_servers_hold_enough_rows(storage: Storage) -> None:
    point, m = storage.point, storage.rows
    assert [len(rows) for rows in storage.rows_of] == [point.mu_bar * m] * point.setting.K
    assert [row for batch in storage.batches for row in batch.rows] == list(range(storage.coded))
    for servers in combinations(storage.rows_of, point.q):
        assert len(set().union(*servers)) >= m


@given(storages())
def test_the_row_unit_is_the_least(storage: Storage) -> None:
    point = storage.point
    unit = row_unit(point)
    assert store(point).rows == unit
    batches = len(storage.batches)
    even = [
        m for m in range(1, unit + 1) if (Fraction(point.setting.K * m, point.q) / batches).denominator == 1
    ]
    assert even == [unit]


def test_rows_that_cannot_be_dealt_are_refused() -> None:
    point = Setting(6, Fraction(1, 2), 12).point(4)
    with pytest.raises(UsageError, match="pad them to 20, a multiple of 10"):
        store(point, 19)
    with pytest.raises(UsageError, match="number of rows m is 0"):
        store(point, 0)


@given(st.integers(1, 1000), st.fractions(0, 1))
def test_memory_sharing_divides_all_rows(rows: int, place: Fraction) -> None:
    points = tradeoff(Setting(6, Fraction(1, 2), 12))
    mix = share_memory(points, points[0].D + place * (points[-1].D - points[0].D))
    fast, slow = share_rows(mix, rows)
    assert fast + slow == rows
    assert 0 <= fast - mix.theta * rows < 1
