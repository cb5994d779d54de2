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

from coded_mr.errors import PlanError, UsageError
from coded_mr.linear.applications import linear_regression, pagerank
from coded_mr.linear.codes import RealCode
from coded_mr.linear.delays import Fixed
from coded_mr.linear.elastic_run import ElasticMatrix, with_elastic_matrix
from coded_mr.linear.elastic_steps import Policy, Settings
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

    with_elastic_matrix(WORLD, X, Settings(L, policy=policy), work)


def test_nothing_is_encoded_or_moved_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count what the master inverts: once a set of machines, not once a step."""
    made: list[object] = []
    make = RealCode._make_system
    monkeypatch.setattr(RealCode, "_make_system", lambda self, here: made.append(here) or make(self, here))

    def work(matrix: ElasticMatrix) -> None:
        monkeypatch.setattr(RealCode, "coded", None)
        for _ in range(6):
            matrix.step(example(6, 1), MACHINES[-2:])

    with_elastic_matrix(WORLD, example(23, 6), Settings(L), work)
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

    with_elastic_matrix(WORLD, X, Settings(L, margin=1), work)


def test_speeds_are_learnt_and_the_slow_machine_gets_fewer_rows() -> None:
    X = example(400, 3)
    slow = MACHINES[-1]
    delay = Fixed(tuple(0.2 if machine == slow else 0.02 for machine in MACHINES))

    def work(matrix: ElasticMatrix) -> dict[int, Fraction]:
        for _ in range(4):
            step = matrix.step(example(3, 1), MACHINES)
        return {machine: step.work.fraction(machine) for machine in MACHINES}

    found = with_elastic_matrix(WORLD, X, Settings(L), work, delay=delay)
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

    with_elastic_matrix(WORLD, X, Settings(L, trace=trace), raising)
    with_elastic_matrix(WORLD, X, Settings(L, trace=trace, on_infeasible="skip"), skipping)


def preempted() -> Settings:
    return Settings(L, trace=random_trace(len(MACHINES), 0.2, seed=4), on_infeasible="skip")


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

    with_elastic_matrix(WORLD, M, preempted(), work)


def test_regression_through_preemptions() -> None:
    X, y = example(60, 4), example(60, 1)[:, 0]

    def work(matrix: ElasticMatrix) -> None:
        found = linear_regression(matrix.product, lambda r: matrix.product(r, 1), y)
        assert found.reached(1e-10)
        assert np.allclose(found.value, np.linalg.lstsq(X, y, rcond=None)[0], rtol=0, atol=1e-8)

    with_elastic_matrix(WORLD, [X, X.T], preempted(), work)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: (np.full((2, 2), np.nan), Settings(L)), "X holds NaN"),
        (lambda: ([np.zeros((2, 2)), np.zeros(2)], Settings(L)), r"matrices\[1\] has the shape"),
        (lambda: (np.zeros((2, 2)), Settings(WORLD.size)), "there must be as many machines"),
        (lambda: (np.zeros((2, 2)), None), "must pass settings"),
    ],
)
def test_wrong_matrices_are_refused_on_every_rank(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ElasticMatrix(WORLD, *make())


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

    with_elastic_matrix(WORLD, X, Settings(L), work)
