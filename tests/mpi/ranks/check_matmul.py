"""Coded products over MPI: exact, loads as in the paper, and nobody waits for slow or stopped ranks."""

from __future__ import annotations

import os
from fractions import Fraction
from itertools import combinations
from typing import Any

import galois
import numpy as np
import numpy.typing as npt
import pytest
from mpi4py import MPI

from coded_mr.engine.multicast import GroupTransport
from coded_mr.errors import UsageError
from coded_mr.linear.allocation_rules import uncoded
from coded_mr.linear.exact_product import FieldMatrix, FieldProduct, matmul
from coded_mr.linear.real_product import CodedMatrix
from coded_mr.linear.sharing import SharedMatrix
from tests.mpi.stopping import stopped

SIZES = (4, 6)

pytestmark = pytest.mark.mpi(min_size=4)

HALF = Fraction(1, 2)
TAG = 77

Matrix = npt.NDArray[np.unsignedinteger[Any]]


def made(bits: int, shape: tuple[int, ...], seed: int) -> Matrix:
    """Return the same random field elements on every rank."""
    dtype = np.uint8 if bits == 8 else np.uint16
    return np.random.default_rng(seed).integers(0, 1 << bits, shape).astype(dtype)


def expected(bits: int, A: Matrix, X: Matrix) -> Matrix:
    """Return the product by galois' multiplication; its own matmul would be compiled anew on every rank."""
    field = galois.GF(1 << bits)
    return np.bitwise_xor.reduce(np.asarray(field(A)[:, :, None] * field(X)[None]), axis=1)


def on_rank_0(array: Matrix) -> Matrix | None:
    return array if MPI.COMM_WORLD.rank == 0 else None


@pytest.mark.parametrize("bits", [8, 16])
def test_products_equal_those_of_galois(bits: int) -> None:
    K = MPI.COMM_WORLD.size
    for q in range(2, K + 1):
        for rows, N in ((1, 1), (13, 5), (60, K * q)):
            A, X = made(bits, (rows, 7), rows), made(bits, (7, N), N)
            found = matmul(on_rank_0(A), on_rank_0(X), storage=HALF, finishers=q)
            if found is None:
                assert MPI.COMM_WORLD.rank
                continue
            assert (expected(bits, A, X) == found.Y).all()
            assert found.outputs == tuple(range(N))
            assert found.report is not None
            assert len(found.report.finishers) == q
            assert found.report.load >= found.report.expected
            if N % q == 0:
                assert found.report.expected == found.report.point.L


@pytest.mark.parametrize(
    ("K", "q", "N", "rows", "load", "multicast", "unicast"),
    [(4, 4, 4, 12, 1, 12, 0), (4, 2, 4, 12, 2, 0, 24), (6, 4, 12, 20, Fraction(21, 5), 36, 48)],
)
def test_the_papers_examples_packet_by_packet(
    K: int,
    q: int,
    N: int,
    rows: int,
    load: Fraction,
    multicast: int,
    unicast: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Count the values of every packet where it is sent; L is in units of `rows` values."""
    world = MPI.COMM_WORLD
    if world.size != K:
        return
    sent: list[tuple[int, int]] = []
    send = GroupTransport.send

    def counting(self, number, packet, header, payload):  # type: ignore[no-untyped-def]
        sent.append((len(packet.receivers), payload.size))
        return send(self, number, packet, header, payload)

    monkeypatch.setattr(GroupTransport, "send", counting)
    A, X = made(8, (rows, 9), 1), made(8, (9, N), 2)
    found = matmul(on_rank_0(A), on_rank_0(X), storage=HALF, finishers=q)
    packets = [packet for each in world.allgather(sent) for packet in each]
    assert sum(size for receivers, size in packets if receivers > 1) == multicast
    assert sum(size for receivers, size in packets if receivers == 1) == unicast
    if world.rank == 0:
        assert found is not None
        assert found.report is not None
        assert (expected(8, A, X) == found.Y).all()
        assert (multicast + unicast) / Fraction(rows) == found.report.load == found.report.point.L == load


def test_the_slow_rank_is_left_out_whichever_it_is() -> None:
    """One rank is an hour late: no job waits for it, and it goes on with the next."""
    world = MPI.COMM_WORLD
    A = made(8, (30, 7), 3)
    with FieldMatrix(on_rank_0(A), storage=HALF, finishers=world.size - 1) as matrix:
        for slow in range(world.size):
            X = made(8, (7, 6), slow)
            found = matrix.multiply(on_rank_0(X), slow=3600 if world.rank == slow else 0)
            if world.rank == 0:
                assert found is not None
                assert found.report is not None
                assert found.report.finishers == tuple(rank for rank in range(world.size) if rank != slow)
                assert (expected(8, A, X) == found.Y).all()
    assert matrix.absent == ()


def test_a_third_of_the_ranks_is_stopped_whichever_they_are() -> None:
    """Rank 0 stops them by SIGSTOP before a job begins, and lets them go on when it has the product.

    Rank 0 leads and cannot be missed.
    """
    world = MPI.COMM_WORLD
    number = world.size // 3
    processes = world.allgather(os.getpid())
    A = made(8, (30, 7), 4)
    with FieldMatrix(on_rank_0(A), storage=HALF, finishers=world.size - number) as matrix:
        for round_, stopping in enumerate(combinations(range(1, world.size), number)):
            X = made(8, (7, 6), round_)
            if world.rank:
                # No collective here: a rank that stops in one would hold up the others.
                world.Send(np.zeros(1), 0, TAG)
                assert matrix.multiply() is None
                continue
            for _ in range(world.size - 1):
                world.Recv(np.empty(1), MPI.ANY_SOURCE, TAG)
            # All have done with the job before: who stops now takes part in this one only.
            with stopped([processes[rank] for rank in stopping]):
                found = matrix.multiply(X)
            assert found is not None
            assert found.report is not None
            assert found.report.finishers == tuple(sorted(set(range(world.size)) - set(stopping)))
            assert (expected(8, A, X) == found.Y).all()
    assert matrix.absent == ()


def test_a_server_that_asks_when_rank_0_has_moved_on_is_told_all_the_same() -> None:
    """The last rank begins its jobs, of which one is refused, while rank 0 waits for it elsewhere."""
    world = MPI.COMM_WORLD
    A, X, R = made(8, (12, 5), 1), made(8, (5, 3), 2), np.ones((12, 3))
    exact = FieldMatrix(on_rank_0(A), storage=HALF)
    real = CodedMatrix(on_rank_0(R), rule=uncoded)
    if world.rank == world.size - 1:
        world.recv(source=0, tag=TAG)
    for _ in range(2):
        found = exact.multiply(on_rank_0(X))
        assert found is None or (expected(8, A, X) == found.Y).all()
        with pytest.raises(UsageError, match="X has the shape"):
            exact.multiply(on_rank_0(X[1:]))
    if world.rank == 0:
        world.send(None, world.size - 1, TAG)
    y = real.lead(lambda matrix: matrix.matvec(np.ones(3)))
    assert y is None or np.allclose(y, 3, rtol=0, atol=1e-12)
    assert exact.close() == ()


def test_the_slow_part_waits_for_a_server_that_missed_the_fast_part(monkeypatch: pytest.MonkeyPatch) -> None:
    world = MPI.COMM_WORLD
    A, X, multiply = made(8, (12, 5), 1), made(8, (5, 3), 2), FieldMatrix.multiply

    def telling(self: FieldMatrix, *arguments: Any, **options: Any) -> FieldProduct | None:
        found = multiply(self, *arguments, **options)
        monkeypatch.undo()
        world.send(None, world.size - 1, TAG)
        return found

    with SharedMatrix(on_rank_0(A), storage=HALF, fast=2, slow=world.size, theta=HALF) as matrix:
        if world.rank == 0:
            monkeypatch.setattr(FieldMatrix, "multiply", telling)
        if world.rank == world.size - 1:
            world.recv(source=0, tag=TAG)
        found = matrix.multiply(on_rank_0(X))
    assert found is None or (expected(8, A, X) == found.Y).all()


@pytest.mark.parametrize("late", [0, 1])
def test_memory_sharing_is_executed(late: int) -> None:
    """Half of the rows wait for 2 ranks, half for 4: the load of the first example is midway, 3/2."""
    world = MPI.COMM_WORLD
    if world.size != 4:
        return
    A, X = made(8, (24, 5), 10), made(8, (5, 4), 11)
    with SharedMatrix(on_rank_0(A), storage=HALF, fast=2, slow=4, theta=HALF) as matrix:
        found = matrix.multiply(on_rank_0(X), slow=2 if world.rank == late else 0)
    assert matrix.absent == ()
    assert (found is None) == (world.rank > 0)
    if found is not None:
        assert (expected(8, A, X) == found.Y).all()
        assert late not in found.report.fast.finishers
        assert found.report.slow.finishers == (0, 1, 2, 3)
        assert found.report.load == found.report.predicted.L == Fraction(3, 2)


@pytest.mark.parametrize(
    ("rows", "theta", "match"),
    [(4, Fraction(0), "theta is 0"), (4, Fraction(1), "theta is 1"), (1, HALF, r"A has the shape \(0, 5\)")],
)
def test_memory_sharing_without_rows_is_refused(rows: int, theta: Fraction, match: str) -> None:
    A = made(8, (rows, 5), 10)
    with pytest.raises(UsageError, match=match):
        SharedMatrix(on_rank_0(A), storage=HALF, fast=2, slow=3, theta=theta)


def test_outputs_stay_where_they_are_decoded() -> None:
    world = MPI.COMM_WORLD
    A, X = made(16, (25, 4), 5), made(16, (4, 9), 6)
    found = matmul(on_rank_0(A), on_rank_0(X), storage=HALF, finishers=3, collect=False)
    parts: list[FieldProduct] = [part for part in world.allgather(found) if part is not None]
    assert sorted(output for part in parts for output in part.outputs) == list(range(9))
    for part in parts:
        assert (expected(16, A, X)[:, list(part.outputs)] == part.Y).all()


def test_a_vector_gives_a_vector() -> None:
    A, x = made(8, (10, 4), 7), made(8, (4,), 8)
    found = matmul(on_rank_0(A), on_rank_0(x), storage=HALF)
    if found is not None:
        assert found.Y.shape == (10,)
        assert (expected(8, A, x[:, None])[:, 0] == found.Y).all()


def test_two_communicators_side_by_side() -> None:
    """Each has its own matrix, stored whole on every rank: one finisher is enough and nothing is sent."""
    world = MPI.COMM_WORLD
    comm = world.Split(world.rank % 2, world.rank)
    A, X = made(8, (9, 3), world.rank % 2), made(8, (3, 4), 9)
    first = comm.rank == 0
    found = matmul(A if first else None, X if first else None, storage=1, finishers=1, comm=comm)
    assert (found is not None) == first
    if found is not None:
        assert (expected(8, A, X) == found.Y).all()
    comm.Free()


@pytest.mark.parametrize(
    ("A", "match"),
    [
        (None, "A is missing"),
        (np.zeros((2, 2)), "A has the type float64"),
        (np.full((2, 2), np.nan), "A has the type float64"),
        (np.zeros((2, 2), dtype=np.int64), "give bits"),
        (np.zeros(2, dtype=np.uint8), r"A has the shape \(2,\)"),
        (np.zeros((0, 2), dtype=np.uint8), r"A has the shape \(0, 2\)"),
    ],
    ids=["none", "float", "nan", "int64", "vector", "empty"],
)
def test_a_wrong_matrix_is_refused_on_every_rank(A: Any, match: str) -> None:
    with pytest.raises(UsageError, match=match):
        FieldMatrix(A if MPI.COMM_WORLD.rank == 0 else None, storage=HALF)


def test_numbers_outside_the_field_are_refused() -> None:
    A = np.full((2, 2), 256)
    with pytest.raises(UsageError, match="A holds numbers from 256 to 256"):
        FieldMatrix(A if MPI.COMM_WORLD.rank == 0 else None, storage=HALF, bits=8)


@pytest.mark.parametrize(
    ("X", "match"),
    [
        (None, "X is missing"),
        (np.zeros((2, 2), dtype=np.uint8), r"X has the shape \(2, 2\): A has the shape \(5, 3\)"),
        (np.zeros((3, 0), dtype=np.uint8), r"X has the shape \(3, 0\)"),
        (np.zeros((3, 2)), "X has the type float64"),
        (np.full((3, 2), 300), "X holds numbers from 300 to 300"),
    ],
    ids=["none", "rows", "empty", "float", "range"],
)
def test_wrong_vectors_are_refused_on_every_rank(X: Any, match: str) -> None:
    """The matrix stays good for the next job."""
    A, right = made(8, (5, 3), 1), made(8, (3, 4), 2)
    with FieldMatrix(on_rank_0(A), storage=1, finishers=MPI.COMM_WORLD.size) as matrix:
        before = matrix.multiply(on_rank_0(right))
        with pytest.raises(UsageError, match=match):
            matrix.multiply(X if MPI.COMM_WORLD.rank == 0 else None)
        after = matrix.multiply(on_rank_0(right))
    for found in (before, after):
        assert (found is None) == (MPI.COMM_WORLD.rank > 0)
        if found is not None:
            assert (expected(8, A, right) == found.Y).all()


@pytest.mark.parametrize(("mu", "q"), [(Fraction(1, 100), None), (2, None), (HALF, 1), (HALF, 100)])
def test_impossible_servers_are_refused(mu: Fraction, q: int | None) -> None:
    with pytest.raises(UsageError):
        FieldMatrix(on_rank_0(made(8, (5, 3), 1)), storage=mu, finishers=q)
