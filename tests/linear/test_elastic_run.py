"""A step of elastic X w: shares, decoding within the bound for all sets of machines, traces."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coded_mr.errors import InputError, PlanError, UsageError
from coded_mr.linear.collecting import multiply
from coded_mr.linear.elastic_steps import Blocks, ElasticSettings, Policy, speeds_of
from coded_mr.linear.traces import always, cycle, random_trace, read_trace, watch

POLICIES: list[Policy] = ["heterogeneous", "cyclic", "uncoded"]


def random_matrix(p: int, q: int, dtype: Any = np.float64) -> Any:
    return np.random.default_rng(p).standard_normal((p, q)).astype(dtype)


@settings(max_examples=60)
@given(
    policy=st.sampled_from(POLICIES[:2]),
    order=st.permutations(range(1, 7)),
    away=st.integers(0, 2),
    margin=st.integers(0, 1),
    p=st.integers(1, 50),
    speeds=st.lists(st.integers(1, 20), min_size=6, max_size=6),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_every_set_and_order_gives_the_product(
    policy: Policy, order: list[int], away: int, margin: int, p: int, speeds: list[int], dtype: Any
) -> None:
    """Leave out `away` machines of 6, and as many answers as the margin allows."""
    X, w = random_matrix(p, 4, dtype), random_matrix(4, 2, dtype)
    blocks = Blocks(X, 6, 3, policy, seed=2)
    stored = dict(enumerate(blocks.stored(X), 1))
    here = order[away:]
    work = blocks.work({machine: Fraction(speeds[machine - 1]) for machine in here}, margin)
    gathered = blocks.gather(work, w)
    for machine in here[margin:]:
        gathered.add(machine, multiply(stored[machine], w, work.ranges(machine)))
    y, bound = gathered.result()
    assert y.dtype == dtype
    assert np.abs(y - X.astype(np.float64) @ w.astype(np.float64)).max() <= bound


def test_each_row_is_computed_by_l_plus_s_machines() -> None:
    blocks = Blocks(random_matrix(70, 2), 5, 2)
    work = blocks.work({machine: Fraction(machine) for machine in range(1, 6)}, 1)
    assert [row for part in work.parts for row in part.rows] == list(range(35))
    assert all(len(part.machines) == 3 for part in work.parts)
    assert sum(work.fraction(machine) for machine in range(1, 6)) == 3


def test_heterogeneous_is_no_slower_than_the_others() -> None:
    speeds = {machine: Fraction(machine**2) for machine in range(1, 6)}
    times = {policy: Blocks(random_matrix(70, 2), 5, 2, policy).work(speeds).c for policy in POLICIES}
    assert times["heterogeneous"] < min(times["cyclic"], times["uncoded"])


def test_plain_blocks_are_shared_by_those_that_have_them() -> None:
    X, w = random_matrix(11, 3), random_matrix(3, 1)[:, 0]
    blocks = Blocks(X, 5, 2, "uncoded")
    stored = dict(enumerate(blocks.stored(X), 1))
    work = blocks.work({1: Fraction(1), 2: Fraction(5), 3: Fraction(3)})
    assert (work.fraction(1), work.fraction(3), work.fraction(2)) == (Fraction(1, 6), Fraction(5, 6), 1)
    gathered = blocks.gather(work, w)
    for machine in (3, 1, 2):
        gathered.add(machine, multiply(stored[machine], w, work.ranges(machine)))
    assert np.abs(gathered.result()[0] - X @ w).max() <= gathered.result()[1]
    with pytest.raises(PlanError, match="lost"):
        blocks.work({1: Fraction(1), 3: Fraction(1), 5: Fraction(1)})


def test_coded_blocks_survive_where_plain_ones_do_not() -> None:
    coded = Blocks(random_matrix(11, 3), 5, 2)
    for here in combinations(range(1, 6), 2):
        assert coded.work(dict.fromkeys(here, Fraction(1))).c == 1


def test_too_few_machines_or_answers_are_refused() -> None:
    blocks = Blocks(random_matrix(11, 3), 5, 2)
    with pytest.raises(PlanError):
        blocks.work({1: Fraction(1)})
    with pytest.raises(PlanError):
        blocks.work({1: Fraction(1), 2: Fraction(1)}, margin=1)
    work = blocks.work({1: Fraction(1), 2: Fraction(1)})
    with pytest.raises(UsageError, match="too few"):
        blocks.gather(work, np.ones(3)).result()


def test_more_blocks_than_machines_are_refused() -> None:
    with pytest.raises(UsageError, match="6 blocks on 5 machines"):
        Blocks(random_matrix(11, 3), 5, 6)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"L": 0}, "blocks L"),
        ({"L": 2, "margin": -1}, "margin S"),
        ({"L": 2, "policy": "fast"}, "policy"),
        ({"L": 2, "policy": "uncoded", "margin": 1}, "without a code"),
        ({"L": 2, "on_infeasible": "wait"}, "on_infeasible"),
        ({"L": 2, "keep": Fraction(2)}, "keep"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ElasticSettings(**wrong)


def test_unmeasured_machines_are_taken_for_average() -> None:
    known = {1: Fraction(2), 2: Fraction(4)}
    assert speeds_of(known, [2, 3]) == {2: 4, 3: 3}
    assert speeds_of({}, [5]) == {5: 1}


def test_traces_go_round() -> None:
    trace = cycle([[1, 2], [3]])
    assert [set(trace(number)) for number in range(3)] == [{1, 2}, {3}, {1, 2}]
    assert set(always(3)(9)) == {1, 2, 3}
    with pytest.raises(UsageError):
        cycle([])


def test_random_traces_repeat_and_miss_some() -> None:
    trace = random_trace(4, 0.3, seed=1)
    steps = [tuple(trace(number)) for number in range(200)]
    assert steps == [tuple(random_trace(4, 0.3, seed=1)(number)) for number in range(200)]
    assert 0.2 < 1 - sum(map(len, steps)) / 800 < 0.4
    with pytest.raises(UsageError):
        random_trace(4, 1.0)


def test_traces_are_read_from_files(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_text("# all\n1 2 3\n\n2 3  # one has gone\n")
    trace = read_trace(str(path))
    assert [set(trace(number)) for number in range(3)] == [{1, 2, 3}, {2, 3}, {1, 2, 3}]
    live = watch(str(path))
    assert list(live(0)) == [2, 3]
    path.write_text("1\n")
    assert list(live(1)) == [1]
    path.write_text("")
    assert list(live(2)) == []


@pytest.mark.parametrize("text", ["", "# nobody\n", "1 two\n", "1, 2\n", "-1\n"])
def test_wrong_trace_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "trace"
    path.write_text(text)
    with pytest.raises(InputError):
        read_trace(str(path))


def test_missing_trace_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read the trace"):
        read_trace(str(tmp_path / "none"))
