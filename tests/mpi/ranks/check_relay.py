"""Packets relayed along a network that is made up, and jobs whose parts move in it.

Every rank says that it is on a node of its own, as under Slurm; in truth all share this machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from mpi4py import MPI

from coded_mr.engine.locating import find_sites
from coded_mr.engine.multicast import open_carrier
from coded_mr.engine.packet import Value
from coded_mr.engine.run_report import RunReport
from coded_mr.engine.runner import Order, run_order
from coded_mr.engine.shuffle import Limits, Shuffle
from coded_mr.engine.store import Store
from coded_mr.jobfile import load_job
from coded_mr.plan.model import Plan
from coded_mr.plan.planner import Request
from coded_mr.plan.schemes import resolvable, solver_helper, symmetric
from coded_mr.terasort.kinds import make_records
from coded_mr.topology import Sites
from tests.topology.networks import TWO_SWITCHES

pytestmark = pytest.mark.mpi

SIZES = (2, 6)

TERASORT = Path(__file__).parents[3] / "jobs" / "terasort.py"
NETWORK = "SwitchName=left Nodes=n[0-2]\nSwitchName=right Nodes=n[3-5]\nSwitchName=top Switches=left,right\n"


@pytest.fixture
def network(mpi_tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the description of a network in which rank k is on node nk."""
    world = MPI.COMM_WORLD
    monkeypatch.setenv("SLURMD_NODENAME", f"n{world.rank}")
    path = mpi_tmp_path / "network.conf"
    if world.rank == 0:
        path.write_text(NETWORK)
    world.Barrier()
    yield str(path)
    world.Barrier()


def plans(ranks: int) -> list[Plan]:
    found = [symmetric(ranks, ranks, r) for r in (1, ranks - 1)]
    found += [solver_helper(s, s, r, ranks - s) for s in {ranks // 2, ranks - 1} for r in {0, s - 1}]
    return found + ([resolvable(6, 3, 2)] if ranks == 6 else [])


def assert_shuffled(plan: Plan, sites: Sites, sizes: tuple[int, ...], limits: Limits | None) -> None:
    """Carry a plan out and check that this rank got what it reduces."""
    world = MPI.COMM_WORLD.Dup()
    store = Store(plan, world.rank)

    def value(q: int, batch: int) -> bytes:
        return hashlib.shake_128(f"{q} {batch}".encode()).digest(sizes[(3 * q + batch) % len(sizes)])

    for batch in plan.batches_of[world.rank]:
        store.put_mapped(batch, [Value.of(value(q, batch)) for q in range(plan.partitions)])
    carrier = open_carrier(world, "relay", sites=sites)
    Shuffle(world, plan, store, limits=limits, carrier=carrier).run()
    for q in plan.reduces[world.rank]:
        taken = [bytes(part.data) for part in store.take_partition(q)]
        assert taken == [value(q, batch) for batch in range(len(plan.batches))]
    assert store.bytes == 0
    world.Free()


@pytest.mark.parametrize(
    ("hosts", "limits"),
    [
        ("h1 h5 h2 h6 h3 h7", None),
        ("h1 h5 h2 h6 h3 h7", Limits(packets=1, bytes=1, chunk=50)),
        ("h1 h1 h5 h1 h5 h5", Limits(packets=3, bytes=300, chunk=64)),
    ],
    ids=["wide", "narrow", "two hosts"],
)
def test_every_solver_gets_every_value_from_the_rank_before(hosts: str, limits: Limits | None) -> None:
    ranks = MPI.COMM_WORLD.size
    sites = Sites(TWO_SWITCHES, tuple(hosts.split()[:ranks]))
    for plan in plans(ranks):
        assert_shuffled(plan, sites, (0, 1, 63, 64, 65, 300), limits)


def test_payloads_of_many_segments_arrive() -> None:
    ranks = MPI.COMM_WORLD.size
    sites = Sites(TWO_SWITCHES, tuple(f"h{k + 1}" for k in range(ranks)))
    assert_shuffled(solver_helper(ranks - 1, ranks - 1, ranks - 2, 1), sites, (700_000, 65_536, 65_537), None)


def test_ranks_are_found_by_their_nodes(network: str) -> None:
    sites = find_sites(MPI.COMM_WORLD, network)
    assert sites.hosts == tuple(f"n{rank}" for rank in range(MPI.COMM_WORLD.size))
    assert len(set(find_sites(MPI.COMM_WORLD, None).hosts)) == 1


def sort(
    folder: Path, data: Path, request: Request, topology: str | None, transport: str
) -> RunReport | None:
    return run_order(
        MPI.COMM_WORLD,
        Order(
            job=load_job(str(TERASORT))(),
            job_name="terasort",
            inputs=(str(data),),
            output=str(folder / f"{transport}-{topology is None}-{request.implementation}-{request.scheme}"),
            request=request,
            job_id="made-up",
            topology=topology,
            transport=transport,
        ),
    )


@pytest.mark.mpi(min_size=6)
@pytest.mark.parametrize("transport", ["relay", "groups"])
@pytest.mark.parametrize("implementation", ["sequential", "parallel"])
def test_a_job_whose_parts_move_gives_the_same_output(
    network: str, mpi_tmp_path: Path, transport: str, implementation: str
) -> None:
    """One with a spare rank, and helpers that are better off at both switches."""
    world, data = MPI.COMM_WORLD, mpi_tmp_path / "data"
    if world.rank == 0:
        data.write_bytes(make_records("uniform", 0, 5_000).tobytes())
    world.Barrier()
    request = Request(3, scheme="solver-helper", r=1, helpers=2, implementation=implementation)
    plain = sort(mpi_tmp_path, data, request, None, transport)
    moved = sort(mpi_tmp_path, data, request, network, transport)
    if plain is None or moved is None:
        return
    assert plain.placement is None
    assert moved.placement is not None
    assert moved.placement.ranks != tuple(range(5))
    assert moved.placement.burden.total < moved.placement.before.total
    document = moved.to_dict()
    assert (document["plan"]["helpers"], document["plan"]["spares"]) == (2, 1)
    roles = [rank["role"] for rank in document["ranks"]]
    assert sorted(roles) == ["helper", "helper", "solver", "solver", "solver", "spare"]
    assert document["network"]["parts"] == list(moved.placement.ranks)
    assert "moved; as numbered" in moved.summary()
    contents = [
        [path.read_bytes() for path in sorted(Path(report.output).glob("part-*"))]
        for report in (plain, moved)
    ]
    assert contents[0] == contents[1]
    assert sum(map(len, contents[0])) == data.stat().st_size
