"""Setting up a communicator per multicast group: `python -m benchmarks.groups`.

Beside one collective split per subset (what Coded TeraSort did) in the same run, and a whole shuffle of a
plan that has more groups than MPICH has context ids. Starts MPI itself; run it with the Python of each MPI.
"""

from __future__ import annotations

import os
import sys
import time
import uuid
from collections.abc import Callable
from itertools import combinations

from coded_mr.launch import find_mpirun, run_world
from coded_mr.plan.schemes import solver_helper

_CASES = ((8, 2), (16, 3))
_MANY = (14, 5)  # C(14, 6) = 3,003 groups, each rank in 1,287 of them
_ROUNDS = 3


def main(words: list[str]) -> int:
    """Measure each case in a world of its own."""
    if words[:1] == ["--rank"]:
        (_many if words[1] == "many" else _setup)(int(words[2]), int(words[3]))
        return 0
    mpirun = find_mpirun(os.environ)
    print(f"{mpirun.flavour} {mpirun.version}")
    cases = [("setup", Q, r, Q) for Q, r in _CASES] + [("many", *_MANY, _MANY[0] + 1)]
    for kind, Q, r, ranks in cases:
        command = [sys.executable, "-m", "benchmarks.groups", "--rank", kind, str(Q), str(r)]
        status = run_world(mpirun, ranks, command, job_id=uuid.uuid4().hex, finished=lambda: True)
        if status:
            return status
    return 0


def _setup(Q: int, r: int) -> None:
    from mpi4py import MPI

    from coded_mr.engine.groups import Groups

    world = MPI.COMM_WORLD
    order = solver_helper(Q, Q, r, 2).groups

    def split_each() -> None:
        comms = []
        for S in combinations(range(Q), r + 1):
            comm = world.Split(0 if world.rank in S else MPI.UNDEFINED, world.rank)
            if comm != MPI.COMM_NULL:
                comms.append(comm)
        for comm in comms:
            comm.Free()

    def ours() -> None:
        groups = Groups(world)
        for group in order:
            if world.rank in group:
                groups.make(group)
        groups.free()

    ours()
    split, fast = float("inf"), float("inf")
    for _ in range(_ROUNDS):
        split, fast = min(split, _slowest(split_each)), min(fast, _slowest(ours))
    if world.rank == 0:
        print(
            f"Q={Q} r={r}: {len(order)} groups; split per subset {split * 1e3:.1f} ms, "
            f"ours {fast * 1e3:.1f} ms: {split / fast:.1f} times faster",
            flush=True,
        )


def _slowest(call: Callable[[], object]) -> float:
    """Return the seconds of the slowest rank."""
    from mpi4py import MPI

    MPI.COMM_WORLD.Barrier()
    started = time.perf_counter()
    call()
    seconds: float = MPI.COMM_WORLD.allreduce(time.perf_counter() - started, MPI.MAX)
    return seconds


def _many(Q: int, r: int) -> None:
    """Shuffle a plan with more groups than can live at once, and check what arrives."""
    from mpi4py import MPI

    from coded_mr.engine.packet import Value
    from coded_mr.engine.shuffle import Shuffle
    from coded_mr.engine.store import Store

    world = MPI.COMM_WORLD
    plan = solver_helper(Q, Q, r, 1)
    store = Store(plan, world.rank)
    for batch in plan.batches_of[world.rank]:
        store.put_mapped(batch, [Value.of(b"%d of %d" % (q, batch)) for q in range(Q)])
    shuffle = Shuffle(world, plan, store)
    seconds = _slowest(shuffle.run)
    for q in plan.reduces[world.rank]:
        assert [bytes(v.data) for v in store.take_partition(q)] == [
            b"%d of %d" % (q, batch) for batch in range(len(plan.batches))
        ]
    made = world.reduce(shuffle.traffic.groups, MPI.MAX)
    if world.rank == 0:
        print(
            f"Q={Q} r={r}: {len(plan.groups)} groups, {made} made by the busiest rank, "
            f"{len(plan.packets)} packets shuffled and checked in {seconds:.2f} s",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
