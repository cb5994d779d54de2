"""`ElasticMatrix` in a world: machines come and go, no stored data moves, and X w stays right."""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

from coded_mr.errors import LostRankError, PlanError, UsageError
from coded_mr.linear.applications import linear_regression, pagerank
from coded_mr.linear.codes import RealCode
from coded_mr.linear.delays import Fixed
from coded_mr.linear.elastic_run import ElasticMatrix, elastic
from coded_mr.linear.elastic_steps import ElasticSettings, Policy
from coded_mr.linear.traces import cycle, random_trace
from tests.mpi.stopping import stopped

pytestmark = pytest.mark.mpi

SIZES = (3, 5)

WORLD = MPI.COMM_WORLD
MACHINES = range(1, WORLD.size)
L = 2
PIDS = WORLD.allgather(os.getpid())


def example(p: int, q: int) -> Any:
    return np.random.default_rng(p).standard_normal((p, q))


def sets_of(least: int) -> list[tuple[int, ...]]:
    """Return every set of enough machines, in an order in which machines come and go."""
    sizes = [least, *range(MACHINES[-1], least, -1)]
    return [chosen for size in sizes for chosen in combinations(MACHINES, size)]


@pytest.mark.parametrize("policy", ["heterogeneous", "cyclic", "uncoded"])
def test_every_set_of_machines_gives_the_product(policy: Policy) -> None:
    X = example(23, 6)

    def work(matrix: ElasticMatrix) -> None:
        for number, available in enumerate(sets_of(L)):
            if policy == "uncoded" and {(machine - 1) % L for machine in available} != set(range(L)):
                with pytest.raises(PlanError):
                    matrix.step(example(6, 1), available)
                continue
            w = example(6, number + 1) if number % 2 else example(6, 1)[:, 0]
            step = matrix.step(w, available)
            assert step.y.shape == (X @ w).shape
            assert np.abs(step.y - X @ w).max() <= step.bound
            assert set(step.answered) <= set(available)

    ElasticMatrix(X, ElasticSettings(L, policy=policy)).lead(work)


def test_nothing_is_encoded_or_moved_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count what the master inverts: once a set of machines, not once a step."""
    made: list[object] = []
    make = RealCode._make_system
    monkeypatch.setattr(RealCode, "_make_system", lambda self, here: made.append(here) or make(self, here))

    def work(matrix: ElasticMatrix) -> None:
        monkeypatch.setattr(RealCode, "coded", None)
        for _ in range(6):
            matrix.step(example(6, 1), MACHINES[-2:])

    ElasticMatrix(example(23, 6), ElasticSettings(L)).lead(work)
    assert WORLD.rank or len(made) == (1 if WORLD.size > 3 else 0)


def test_margin_covers_a_stopped_machine() -> None:
    if len(MACHINES) < L + 1:
        pytest.skip("needs L + 1 machines")
    X = example(40, 3)

    def work(matrix: ElasticMatrix) -> None:
        for gone in MACHINES:
            with stopped([PIDS[gone]]):
                for number in range(5):
                    w = example(3, number + 1)
                    step = matrix.step(w, MACHINES)
                    assert gone not in step.answered
                    assert np.abs(step.y - X @ w).max() <= step.bound

    ElasticMatrix(X, ElasticSettings(L, margin=1)).lead(work)


def test_speeds_are_learnt_and_the_slow_machine_gets_fewer_rows() -> None:
    X = example(400, 3)
    slow = MACHINES[-1]
    delay = Fixed(tuple(0.2 if machine == slow else 0.02 for machine in MACHINES))

    def work(matrix: ElasticMatrix) -> dict[int, Fraction]:
        for _ in range(4):
            step = matrix.step(example(3, 1), MACHINES)
        return {machine: step.work.fraction(machine) for machine in MACHINES}

    found = ElasticMatrix(X, ElasticSettings(L), delay=delay).lead(work)
    if found is not None and len(MACHINES) > L:
        assert sum(found.values()) == L
        assert found[slow] < Fraction(1, 2) * min(found[machine] for machine in MACHINES if machine != slow)


def test_infeasible_steps_raise_or_are_skipped() -> None:
    X, trace = example(9, 4), cycle([MACHINES[:1], [], MACHINES[:2]])
    w = example(4, 1)

    def raising(matrix: ElasticMatrix) -> None:
        for _ in range(2):
            with pytest.raises(PlanError, match="machines are available"):
                matrix.product(w)
        assert np.allclose(matrix.product(w), X @ w, rtol=0, atol=1e-12)

    def skipping(matrix: ElasticMatrix) -> None:
        for _ in range(2):
            assert np.allclose(matrix.product(w), X @ w, rtol=0, atol=1e-12)
        assert (matrix.steps, matrix.skipped) == (6, 4)

    ElasticMatrix(X, ElasticSettings(L, trace=trace)).lead(raising)
    ElasticMatrix(X, ElasticSettings(L, trace=trace, on_infeasible="skip")).lead(skipping)


def preempted() -> ElasticSettings:
    return ElasticSettings(L, trace=random_trace(len(MACHINES), 0.2, seed=4), on_infeasible="skip")


def test_pagerank_through_preemptions() -> None:
    n = 30
    links = (np.random.default_rng(1).random((n, n)) < 0.1).astype(float)
    links[:, 3] = 0
    degrees = links.sum(axis=0)
    M = links / np.maximum(degrees, 1)
    google = 0.85 * (M + (degrees == 0) / n) + 0.15 / n

    def work(matrix: ElasticMatrix) -> None:
        found = pagerank(matrix.product, degrees == 0)
        assert found.reached(1e-12)
        assert matrix.skipped > 0
        assert np.abs(google @ found.value - found.value).sum() < 1e-11
        assert np.isclose(found.value.sum(), 1)

    ElasticMatrix(M, preempted()).lead(work)


def test_regression_through_preemptions() -> None:
    X, y = example(60, 4), example(60, 1)[:, 0]

    def work(matrix: ElasticMatrix) -> None:
        found = linear_regression(matrix.product, lambda r: matrix.product(r, 1), y)
        assert found.reached(1e-10)
        assert np.allclose(found.value, np.linalg.lstsq(X, y, rcond=None)[0], rtol=0, atol=1e-8)

    ElasticMatrix([X, X.T], preempted()).lead(work)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: (np.full((2, 2), np.nan), ElasticSettings(L)), "X holds NaN"),
        (lambda: ([np.zeros((2, 2)), np.zeros(2)], ElasticSettings(L)), r"matrices\[1\] has the shape"),
        (lambda: (np.zeros((2, 2)), ElasticSettings(WORLD.size)), "there must be as many machines"),
        (lambda: ([[1, 2], [3]], None), "X is not an array"),
        (lambda: ([], None), "X has the shape"),
    ],
)
def test_wrong_matrices_are_refused_on_every_rank(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ElasticMatrix(*make())


@pytest.mark.parametrize("shape", [(6,), (6, 1), (6, 4)])
def test_one_call_multiplies_every_column(shape: tuple[int, ...]) -> None:
    X, W = example(23, 6), np.random.default_rng(2).standard_normal(shape)
    first = WORLD.rank == 0
    found = elastic(X if first else None, W if first else None)
    assert found is None if WORLD.rank else np.allclose(found, X @ W, rtol=0, atol=1e-10)


def test_lists_of_numbers_are_one_matrix() -> None:
    found = elastic([[1, 2], [3, 4], [5, 6]], [1, 10], ElasticSettings(1), comm=WORLD)
    assert WORLD.rank or np.allclose(found, [21, 43, 65], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("W", "message"),
    [
        (np.ones(3), "W has the shape"),
        (np.ones((4, 0)), "W has the shape"),
        (np.full((4, 2), np.nan), "W holds NaN"),
        (np.ones(4, dtype=complex), "W has the type complex128"),
        (None, "W has the type object"),
    ],
)
def test_wrong_columns_are_refused_on_rank_0_and_end_the_machines(W: Any, message: str) -> None:
    if WORLD.rank:
        assert elastic() is None
    else:
        with pytest.raises(UsageError, match=message):
            elastic(example(9, 4), W)


@pytest.mark.parametrize(
    ("options", "message"), [({"limit": 0}, "limit is 0"), ({"patience": float("nan")}, "patience is nan")]
)
def test_wrong_times_are_refused_on_every_rank(options: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ElasticMatrix(example(9, 4), **options)


def test_a_step_that_takes_longer_than_the_limit_names_whom_it_waits_for() -> None:
    X, w = example(9, 4), example(4, 1)
    with ElasticMatrix(X, ElasticSettings(L), limit=0.5) as matrix:
        if matrix.is_master:
            with stopped([PIDS[1]]), pytest.raises(LostRankError, match=r"no answer in 0.5 s from rank 1 on"):
                matrix.step(w, [1, 2])
            assert np.allclose(matrix.step(w, [1, 2]).y, X @ w, rtol=0, atol=1e-12)


def test_wrong_steps_are_refused_and_leave_the_matrix_usable() -> None:
    X, w = example(9, 4), example(4, 1)

    def work(matrix: ElasticMatrix) -> None:
        with pytest.raises(UsageError, match=r"available names \[0\]"):
            matrix.step(w, [0, 1, 2])
        with pytest.raises(UsageError, match="w has the shape"):
            matrix.step(w[1:], MACHINES)
        with pytest.raises(UsageError, match="which is 1"):
            matrix.step(w, MACHINES, 1)
        assert np.allclose(matrix.step(w, MACHINES).y, X @ w, rtol=0, atol=1e-12)

    ElasticMatrix(X, ElasticSettings(L)).lead(work)
