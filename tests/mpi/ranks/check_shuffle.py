"""The shuffle over real communicators: any plan, any lengths, however narrow the window."""

from __future__ import annotations

import random
import time
from dataclasses import replace

import pytest
from mpi4py import MPI

from coded_mr.engine.multicast import Transport
from coded_mr.engine.packet import Value
from coded_mr.engine.shuffle import Limits, Shuffle
from coded_mr.engine.store import Store
from coded_mr.engine.window import Steps
from coded_mr.errors import NondeterministicMapError, PacketError
from coded_mr.plan.model import Packet, Plan
from coded_mr.plan.schemes import solver_helper, symmetric, uncoded
from coded_mr.plan.turns import in_turns

pytestmark = pytest.mark.mpi

SIZES = (1, 2, 3, 5, 8)

NARROW = Limits(packets=1, bytes=1, chunk=7, groups=1)
MIDDLE = Limits(packets=3, bytes=300, chunk=64, groups=2)


def plans(ranks: int) -> list[Plan]:
    """Return plans of both schemes that use exactly these ranks, with bundles and on few ranks without."""
    found = []
    for solvers in range(1, ranks + 1):
        helpers = ranks - solvers
        for partitions in {solvers, solvers + 2} if ranks < 8 else {solvers + 1}:
            found.append(uncoded(partitions, solvers, helpers))
            loads = range(solvers) if helpers else [solvers]
            found += [solver_helper(partitions, solvers, r, helpers) for r in loads]
    return found


def values(plan: Plan, seed: int, limits: Limits | None) -> dict[tuple[int, int], bytes]:
    """Return V[q, batch] for all: of very different lengths, some empty, up to about ten chunks."""
    source = random.Random(seed)
    narrow = limits is not None and limits.chunk < 64
    lengths = (0, 1, 5, 63, 64, 65, *(() if narrow else (700,)))
    return {
        (q, b): source.randbytes(source.choice(lengths))
        for q in range(plan.partitions)
        for b in range(len(plan.batches))
    }


def shuffled(plan: Plan, held: dict[tuple[int, int], bytes], limits: Limits | None) -> tuple[Store, Shuffle]:
    world = MPI.COMM_WORLD
    store = Store(plan, world.rank)
    for batch in plan.batches_of[world.rank]:
        store.put_mapped(batch, [Value.of(held[q, batch]) for q in range(plan.partitions)])
    shuffle = Shuffle(world, plan, store, limits=limits)
    shuffle.run()
    return store, shuffle


@pytest.mark.parametrize("limits", [None, NARROW, MIDDLE], ids=["wide", "narrow", "middle"])
def test_every_solver_gets_every_value(limits: Limits | None) -> None:
    world = MPI.COMM_WORLD
    for number, plan in enumerate(plans(world.size)):
        held = values(plan, number, limits)
        store, shuffle = shuffled(plan, held, limits)
        for q in plan.reduces[world.rank]:
            taken = [bytes(value.data) for value in store.take_partition(q)]
            assert taken == [held[q, b] for b in range(len(plan.batches))]
        assert store.bytes == 0
        traffic = world.allgather(shuffle.traffic)
        assert sum(t.due for t in traffic) == sum(t.received for t in traffic)
        longest = sum(
            max(sum(len(held[q, t.batch]) for q in t.partitions) for t in packet.terms)
            for packet in plan.packets
        )
        assert sum(t.sent_payload for t in traffic) == longest


@pytest.mark.parametrize("bounds", [Limits(), NARROW], ids=["wide", "narrow"])
def test_one_rank_sends_at_a_time(bounds: Limits, monkeypatch: pytest.MonkeyPatch) -> None:
    world = MPI.COMM_WORLD
    begun: dict[int, float] = {}
    ended: dict[int, float] = {}
    send, keep = Shuffle._send, Shuffle._keep

    def noting_send(self: Shuffle, number: int, packet: Packet, transport: Transport) -> Steps[None]:
        begun.setdefault(packet.sender, time.monotonic())
        return send(self, number, packet, transport)

    def noting_keep(self: Shuffle, number: int, packet: Packet, *rest: object) -> None:
        keep(self, number, packet, *rest)
        ended[packet.sender] = time.monotonic()

    monkeypatch.setattr(Shuffle, "_send", noting_send)
    monkeypatch.setattr(Shuffle, "_keep", noting_keep)
    for r in range(1, min(world.size, 3)):
        begun.clear()
        ended.clear()
        plan = in_turns(symmetric(world.size, world.size, r))
        held = values(plan, r, bounds)
        store, _ = shuffled(plan, held, replace(bounds, one_sender=True))
        for q in plan.reduces[world.rank]:
            taken = [bytes(value.data) for value in store.take_partition(q)]
            assert taken == [held[q, b] for b in range(len(plan.batches))]
        starts = {s: at for each in world.allgather(begun) for s, at in each.items()}
        last = dict.fromkeys(starts, 0.0)
        for each in world.allgather(ended):
            last |= {s: max(at, last[s]) for s, at in each.items()}
        assert sorted(starts) == list(range(world.size))
        assert all(last[s] <= starts[s + 1] for s in range(world.size - 1))


@pytest.mark.mpi(min_size=3)
def test_a_map_that_differs_between_ranks_is_noticed() -> None:
    world = MPI.COMM_WORLD
    comm = world.Split(int(world.rank >= 3), world.rank)
    if world.rank < 3:
        plan = solver_helper(2, 2, 1, 1)
        held = {(q, b): bytes([q, b]) for q in range(2) for b in range(2)}
        if world.rank == 0:
            held[1, 0] = b"something else"  # solver 0's side information for solver 1
        store = Store(plan, world.rank)
        for batch in plan.batches_of[world.rank]:
            store.put_mapped(batch, [Value.of(held[q, batch]) for q in range(2)])
        shuffle = Shuffle(comm, plan, store, blame="file {}".format)
        if world.rank == 0:
            with pytest.raises(
                NondeterministicMapError, match="ranks 0 and 2 mapped file 0 and got different bytes"
            ):
                shuffle.run()
        else:
            shuffle.run()
    world.Barrier()


@pytest.mark.mpi(min_size=2)
def test_a_damaged_packet_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    world = MPI.COMM_WORLD
    plan = solver_helper(1, 1, 0, 1)
    if world.rank == 1:
        wrong = Value.of
        monkeypatch.setattr(Value, "of", staticmethod(lambda data: Value(data, wrong(data).crc ^ 1)))
    if world.rank < 2:
        held = {(0, 0): b"some value"}
        store = Store(plan, world.rank)
        comm = world.Create_group(world.group.Incl([0, 1]))
        for batch in plan.batches_of[world.rank]:
            store.put_mapped(batch, [Value.of(held[0, batch])])
        shuffle = Shuffle(comm, plan, store)
        if world.rank == 0:
            with pytest.raises(PacketError, match="packet 0 from rank 1"):
                shuffle.run()
        else:
            shuffle.run()
        comm.Free()
