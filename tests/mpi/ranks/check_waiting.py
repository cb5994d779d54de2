"""Objects in bounded messages, and waiting without spinning."""

from __future__ import annotations

import threading

import pytest
from mpi4py import MPI

from coded_mr.engine import waiting
from coded_mr.engine.worker import Worker

pytestmark = pytest.mark.mpi

SIZES = (1, 2, 3, 5)


@pytest.fixture(autouse=True, params=[7, 1 << 20], ids=["small-chunks", "usual-chunks"])
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "CHUNK", request.param)


def test_broadcast_gives_all_what_rank_0_made() -> None:
    world = MPI.COMM_WORLD
    value = {"a": list(range(100)), "b": b"\0" * 50}
    assert waiting.broadcast(world, (lambda: value) if world.rank == 0 else None) == value


def test_gather_is_in_rank_order() -> None:
    world = MPI.COMM_WORLD
    found = waiting.gather(world, "x" * world.rank)
    assert found == (["x" * rank for rank in range(world.size)] if world.rank == 0 else None)


def test_scatter_deals_by_rank() -> None:
    world = MPI.COMM_WORLD
    hands = [list(range(rank)) for rank in range(world.size)]
    assert waiting.scatter(world, (lambda: hands) if world.rank == 0 else None) == hands[world.rank]


def test_the_worker_returns_and_raises_on_the_main_thread() -> None:
    worker = Worker(MPI.COMM_WORLD)
    assert worker.run(lambda: 6 * 7) == 42
    with pytest.raises(ZeroDivisionError):
        worker.run(lambda: 1 // 0)
    with pytest.raises(SystemExit):
        worker.run(lambda: (_ for _ in ()).throw(SystemExit(3)))
    assert worker.run(lambda: "still there") == "still there"


def test_a_closed_worker_ends_after_what_was_started() -> None:
    before = set(threading.enumerate())
    worker = Worker(MPI.COMM_WORLD)
    (thread,) = set(threading.enumerate()) - before
    last = worker.start(lambda: "last")
    worker.close()
    thread.join(timeout=10)
    assert not thread.is_alive()
    assert last.result(timeout=0) == "last"


def test_a_busy_worker_does_not_stop_messages() -> None:
    import time

    world = MPI.COMM_WORLD
    Worker(world).run(lambda: time.sleep(0.05 * (world.rank == 0)))
    waiting.barrier(world)
    assert world.allreduce(1) == world.size
