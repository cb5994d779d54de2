"""`CodedMatrix` in a world: whoever answers first, the product is A x, and nobody slow holds it up."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

from coded_mr.errors import LostRankError, UsageError
from coded_mr.linear.allocation_rules import Rule, best, optimal, replication, tolerant, uncoded, uniform
from coded_mr.linear.calls import Calls, serve
from coded_mr.linear.delays import Delays, Fixed
from coded_mr.linear.losses import Losses
from coded_mr.linear.real_product import CodedMatrix, matvec
from coded_mr.theory.load_allocation import Group
from tests.mpi.stopping import stopped

pytestmark = pytest.mark.mpi

SIZES = (3, 5)

WORLD = MPI.COMM_WORLD
WORKERS = WORLD.size - 1
PIDS = WORLD.allgather(os.getpid())
# As good as for ever, in tests that end at once.
NEVER = 1e9
GROUPS = (Group(1, 4.0, 0.2), Group(WORKERS - 1, 1.0, 0.5))


def example(p: int, q: int, dtype: Any = np.float64) -> Any:
    return np.random.default_rng(p).standard_normal((p, q)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "rule",
    [tolerant(1), uncoded, uniform(0.6), replication(2), optimal(GROUPS), best(GROUPS)],
    ids=["tolerant", "uncoded", "uniform", "replication", "optimal", "best"],
)
def test_products_are_right_whoever_comes_first(rule: Rule, dtype: Any) -> None:
    """Draw the order of arrival anew for each of several right-hand sides."""
    A, delay = example(37, 5, dtype), Delays((Group(WORKERS, 1.0, 0.1),), scale=0.02, seed=WORLD.size)

    def work(matrix: CodedMatrix) -> set[tuple[int, ...]]:
        orders = set()
        for number in range(8):
            x = example(5, 1 + number, dtype) if number % 2 else example(5, 1, dtype)[:, 0]
            found = matrix.product(x)
            exact = A.astype(np.float64) @ x.astype(np.float64)
            assert found.y.shape == exact.shape
            assert found.y.dtype == dtype
            assert np.abs(found.y - exact).max() <= found.collected.bound
            assert found.collected.finishers == tuple(found.times)
            orders.add(found.collected.finishers)
        return orders

    orders = CodedMatrix(A, rule=rule, delay=delay, seed=3).lead(work)
    assert orders is None if WORLD.rank else len(orders) > 1


def test_tall_matrix_is_coded_in_pieces() -> None:
    A, x = example(1000, 7), example(7, 2)
    y = matvec(A if WORLD.rank == 0 else None, x, height=13)
    if WORLD.rank == 0:
        assert np.allclose(y, A @ x, rtol=0, atol=1e-11)


def test_messages_larger_than_a_chunk() -> None:
    A, x = example(40, 3), example(3, 60_000)
    y = matvec(A, x)
    if WORLD.rank == 0:
        assert np.allclose(y, A @ x, rtol=0, atol=1e-11)


def test_worker_slow_beyond_all_is_not_waited_for() -> None:
    """The last worker would answer in thirty years; each call cancels it, and it computes the next."""
    A = example(12, 4)
    delay = Fixed((0.0,) * (WORKERS - 1) + (NEVER,))

    def work(matrix: CodedMatrix) -> None:
        for number in range(20):
            x = example(4, number + 1)
            found = matrix.product(x)
            assert WORKERS - 1 not in found.times
            assert np.abs(found.y - A @ x).max() <= found.collected.bound

    CodedMatrix(A, delay=delay).lead(work)


def test_stopped_workers_are_not_waited_for_and_their_late_rows_are_discarded() -> None:
    """Stop every choice of a third of the ranks, for more calls than are kept for them."""
    A, third = example(12, 4), WORLD.size // 3

    def work(matrix: CodedMatrix) -> None:
        for gone in combinations(range(1, WORLD.size), third):
            with stopped([PIDS[rank] for rank in gone]):
                for number in range(10):
                    x = example(4, number + 1)
                    found = matrix.product(x)
                    assert not set(found.collected.finishers) & {rank - 1 for rank in gone}
                    assert np.abs(found.y - A @ x).max() <= found.collected.bound
            x = -example(4, 1)
            assert np.allclose(matrix.matvec(x), A @ x, rtol=0, atol=1e-12)

    CodedMatrix(A, rule=tolerant(third)).lead(work)


def test_answers_to_older_calls_are_discarded() -> None:
    """Without a cancel every worker answers both calls; only the second one's answers are handed out."""
    losses = Losses(WORLD)
    comm = losses.comm
    if comm.rank:
        serve(comm, lambda epoch, message, unwanted: (epoch, message), losses)
    else:
        calls = Calls(comm, losses)
        calls.start("first", calls.workers)
        second = calls.start("second", calls.workers)
        answers = calls.answers(second)
        got = [next(answers) for _ in calls.workers]
        assert {one.worker for one in got} == set(calls.workers)
        assert {one.value for one in got} == {(second, "second")}
        calls.close()
    comm.Free()


def test_cancelled_worker_gives_up_though_nothing_else_is_asked() -> None:
    """Each worker tells rank 0, beside the calls, that it has stopped an endless computation."""
    losses = Losses(WORLD)
    comm = losses.comm

    def endless(epoch: int, message: object, unwanted: Callable[[], bool]) -> None:
        WORLD.send("begun", 0)
        while not unwanted():
            time.sleep(1e-3)
        WORLD.send("given up", 0)

    if comm.rank:
        serve(comm, endless, losses)
    else:
        calls = Calls(comm, losses)
        epoch = calls.start("compute", calls.workers)
        assert {WORLD.recv(source=rank) for rank in calls.workers} == {"begun"}
        calls.cancel(epoch)
        assert {WORLD.recv(source=rank) for rank in calls.workers} == {"given up"}
        calls.close()
    comm.Free()


@pytest.mark.parametrize(
    ("A", "message"),
    [
        (np.zeros(3), "A has the shape"),
        (np.full((2, 2), np.nan), "A holds NaN"),
        (np.zeros((2, 2), dtype=complex), "A has the type complex128"),
        ([["a"]], "A has the type"),
        (np.zeros((0, 2)), "A has the shape"),
    ],
)
def test_wrong_matrix_is_refused_on_every_rank(A: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        CodedMatrix(A if WORLD.rank == 0 else None)


def test_wrong_operand_leaves_the_matrix_usable() -> None:
    A = example(6, 4)

    def work(matrix: CodedMatrix) -> None:
        for x in (np.zeros(5), np.zeros((4, 2, 2)), np.full(4, np.inf), np.zeros((4, 0))):
            with pytest.raises(UsageError, match="x h"):
                matrix.matvec(x)
        assert np.allclose(matrix.matvec([1, 2, 3, 4]), A @ [1, 2, 3, 4], rtol=0, atol=1e-12)

    CodedMatrix(A).lead(work)


def test_error_of_the_work_ends_the_workers_too() -> None:
    def work(matrix: CodedMatrix) -> None:
        raise LookupError("on rank 0 only")

    if WORLD.rank == 0:
        with pytest.raises(LookupError):
            CodedMatrix(example(3, 3)).lead(work)
    else:
        CodedMatrix().lead(work)
    assert WORLD.allreduce(1) == WORLD.size


def test_a_block_serves_and_closes() -> None:
    A, x = example(9, 4), example(4, 2)
    with CodedMatrix(A) as matrix:
        if matrix.is_master:
            assert np.allclose(matrix.matvec(x), A @ x, rtol=0, atol=1e-12)
        else:
            with pytest.raises(UsageError, match="workers serve"):
                matrix.matvec(x)
    assert matrix.absent == ()


def test_a_product_that_takes_longer_than_the_limit_names_whom_it_waits_for() -> None:
    """Without a code every worker is needed; when the last one is back, so is the matrix."""
    A, x, last = example(9, 4), example(4, 2), WORLD.size - 1
    with CodedMatrix(A, rule=uncoded, limit=0.5) as matrix:
        if matrix.is_master:
            message = rf"no answer in 0.5 s from rank {last} on"
            with stopped([PIDS[last]]), pytest.raises(LostRankError, match=message):
                matrix.matvec(x)
            assert np.allclose(matrix.matvec(x), A @ x, rtol=0, atol=1e-12)
