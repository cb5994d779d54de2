"""Every transport passes the tests of the shuffle; `ip` also under losses, strangers and a deaf network."""

from __future__ import annotations

import os
import random
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from mpi4py import MPI

from coded_mr.engine.multicast import TRANSPORTS, Carrier, open_carrier, open_carriers
from coded_mr.engine.multicast.channel import Channel
from coded_mr.engine.multicast.datagrams import head, mask_of
from coded_mr.engine.packet import Value
from coded_mr.engine.runner import Order, run_order
from coded_mr.engine.shuffle import Limits, Shuffle
from coded_mr.engine.store import Store
from coded_mr.engine.traffic import Traffic
from coded_mr.errors import UsageError
from coded_mr.jobfile import load_job
from coded_mr.plan.model import Plan
from coded_mr.plan.planner import Request
from coded_mr.plan.schemes import solver_helper, uncoded
from coded_mr.terasort.kinds import make_records
from coded_mr.terasort.validate import checksum_of, validate

pytestmark = pytest.mark.mpi

SIZES = (1, 3, 5)

NARROW = Limits(packets=1, bytes=1, chunk=7, groups=1)
MIDDLE = Limits(packets=3, bytes=300, chunk=64, groups=2)

# More than a datagram that fits any Ethernet.
PIECE = 1400

TERASORT = Path(__file__).parents[3] / "jobs" / "terasort.py"

Held = dict[tuple[int, int], bytes]


def opened(name: str, drop: Callable[[], bool] = lambda: False) -> Carrier:
    """Return a transport, or skip where this machine carries no multicast."""
    carrier = open_carrier(MPI.COMM_WORLD, name, drop=drop)
    if carrier.name != name:
        pytest.skip("IP multicast does not work among the ranks on this machine")
    return carrier


@pytest.fixture(params=TRANSPORTS)
def carrier(request: pytest.FixtureRequest) -> Iterator[Carrier]:
    found = opened(request.param)
    yield found
    found.close()


def plans(ranks: int) -> list[Plan]:
    """Return plans of both schemes that use exactly these ranks, with several values in a packet's term."""
    found = []
    for solvers in range(1, ranks + 1):
        helpers = ranks - solvers
        loads = range(solvers) if helpers else [solvers]
        found.append(uncoded(solvers + 1, solvers, helpers))
        found += [solver_helper(solvers + 1, solvers, r, helpers) for r in loads]
    return found


def values(plan: Plan, seed: int, sizes: tuple[int, ...]) -> Held:
    source = random.Random(seed)
    return {
        (q, b): source.randbytes(source.choice(sizes))
        for q in range(plan.partitions)
        for b in range(len(plan.batches))
    }


def assert_shuffled(carrier: Carrier, plan: Plan, held: Held, limits: Limits | None = None) -> Traffic:
    """Carry the plan out, assert that this rank got what it reduces, and return the traffic of all ranks.

    On a communicator made for it, as in a run with spare ranks.
    """
    world = MPI.COMM_WORLD.Dup()
    store = Store(plan, world.rank)
    for batch in plan.batches_of[world.rank]:
        store.put_mapped(batch, [Value.of(held[q, batch]) for q in range(plan.partitions)])
    traffic = Shuffle(world, plan, store, limits=limits, carrier=carrier).run()
    for q in plan.reduces[world.rank]:
        taken = [bytes(value.data) for value in store.take_partition(q)]
        assert taken == [held[q, b] for b in range(len(plan.batches))]
    assert store.bytes == 0
    total = Traffic()
    for each in world.allgather(traffic):
        counts = {name: count for name, count in vars(each).items() if count is not None}
        total = replace(total, **{name: getattr(total, name) + count for name, count in counts.items()})
    assert total.due == total.received
    world.Free()
    return total


def lossy(share: float) -> Callable[[], bool]:
    """Return what loses that share of datagrams, each rank its own."""
    source = random.Random(MPI.COMM_WORLD.rank)
    return lambda: source.random() < share


@pytest.mark.parametrize("limits", [None, NARROW, MIDDLE], ids=["wide", "narrow", "middle"])
def test_every_solver_gets_every_value(carrier: Carrier, limits: Limits | None) -> None:
    for number, plan in enumerate(plans(MPI.COMM_WORLD.size)):
        total = assert_shuffled(carrier, plan, values(plan, number, (0, 1, 5, 63, 64, 65, 700)), limits)
        longest = sum(packet.rows for packet in plan.packets)
        assert bool(total.sent_packets) == bool(longest)
        if carrier.name != "ip":
            assert total.sent_wire == total.due


def test_values_of_many_pieces_arrive(carrier: Carrier) -> None:
    ranks = MPI.COMM_WORLD.size
    plan = solver_helper(ranks, ranks - 1, 1, 1) if ranks > 1 else uncoded(2, 1, 0)
    assert_shuffled(carrier, plan, values(plan, 1, (PIECE, PIECE - 1, 40 * PIECE + 1, 700_000)))


@pytest.mark.mpi(min_size=3)
def test_ip_sends_once_what_others_send_to_each() -> None:
    ranks = MPI.COMM_WORLD.size
    plan = solver_helper(ranks - 1, ranks - 1, ranks - 2, 1)
    held = values(plan, 2, (400_000,))
    wire = {}
    for name in TRANSPORTS:
        carrier = opened(name)
        wire[name] = assert_shuffled(carrier, plan, held).sent_wire
        carrier.close()
    # Each packet has all solvers for receivers; a datagram adds a head to a piece.
    assert wire["unicast"] == wire["groups"]
    assert 0.95 < wire["ip"] * (ranks - 1) / wire["unicast"] < 1.2


@pytest.mark.mpi(min_size=3)
def test_a_fifth_of_the_datagrams_may_be_lost_everywhere() -> None:
    """What is lost is sent again, by repairs that serve several receivers each."""
    ranks = MPI.COMM_WORLD.size
    dropped: list[bool] = []
    loses = lossy(0.2)

    def drop() -> bool:
        dropped.append(loses())
        return dropped[-1]

    carrier = opened("ip", drop)
    plan = solver_helper(ranks - 1, ranks - 1, ranks - 2, 1)
    total = assert_shuffled(carrier, plan, values(plan, 3, (3_000_000,)))
    assert carrier.channel is not None
    first = sum(-(-3_000_000 // carrier.channel.piece) for _ in plan.packets)
    carrier.close()
    receivers = len(plan.packets[0].receivers)
    assert total.datagrams == first + total.repairs
    # Every receiver needs what it lost again; that repairs are fewer than all losses is their being joined.
    losses = MPI.COMM_WORLD.allreduce(sum(dropped))
    assert losses / receivers / 2 < total.repairs < losses
    assert total.rest < 0.05 * first * receivers


@pytest.mark.mpi(min_size=3)
def test_a_network_that_goes_deaf_delays_only() -> None:
    """Multicast carries the trial, then nothing: everything comes over MPI."""
    ranks = MPI.COMM_WORLD.size
    deaf = [False]
    carrier = opened("ip", lambda: deaf[0])
    deaf[0] = True
    plan = solver_helper(ranks - 1, ranks - 1, 1, 1)
    held = values(plan, 4, (200_000,))
    total = assert_shuffled(carrier, plan, held)
    assert carrier.channel is not None
    each = -(-200_000 // carrier.channel.piece)
    carrier.close()
    assert total.rest == sum(each * len(p.receivers) for p in plan.packets)


@pytest.mark.mpi(min_size=3)
def test_strangers_datagrams_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside each datagram come some with an earlier key, cut short, too long, and of impossible pieces."""
    send, earlier = Channel.send, b""

    def crowded(self: Channel, first: bytes, content: bytes) -> int:
        key, everyone, packet = self.key, mask_of(range(32)), int.from_bytes(first[12:16], "big")
        noise = b"x" * self.piece
        for junk in (
            head(earlier, everyone, packet, (0,)) + noise,
            head(key, everyone, packet, (0,)),
            head(key, everyone, packet),
            head(key, everyone, packet) + b"x",
            key,
            b"",
            head(key, everyone, packet, (0,)) + noise + noise,
            head(key, everyone, packet, (1 << 31,)) + noise,
            head(key, everyone, packet + 100_000, (0,)) + noise,
            head(key, everyone, packet, (0,)) + b"x",
        ):
            self._socket.sendto(junk, socket.MSG_DONTWAIT, self._address)
        return send(self, first, content)

    carrier = opened("ip")
    assert carrier.channel is not None
    earlier = carrier.channel.key
    monkeypatch.setattr(Channel, "send", crowded)
    ranks = MPI.COMM_WORLD.size
    plan = solver_helper(ranks - 1, ranks - 1, 1, 1)
    assert_shuffled(carrier, plan, values(plan, 5, (20 * PIECE,)))
    carrier.close()


@pytest.mark.mpi(min_size=3)
def test_strangers_and_others_datagrams_are_not_even_read() -> None:
    """The kernel drops what has another key or is for other ranks, so that it cannot fill the buffer."""
    world = MPI.COMM_WORLD
    carrier = opened("ip")
    channel = carrier.channel
    assert channel is not None
    key = world.bcast(os.urandom(8))  # what the trial sent has another one
    channel.listen(key, world.rank)
    while channel.receive() is not None:
        pass
    world.Barrier()
    if world.rank == 0:
        everyone = mask_of(range(32))
        for first in (head(bytes(8), everyone, 1, (0,)), head(key[:4] + bytes(4), everyone, 1, (0,))):
            assert channel.send(first, b"x")
        for rank in range(1, world.size):
            assert channel.send(head(key, mask_of([rank]), rank, (0,)), b"x")
    world.Barrier()
    read: list[bytes] = []
    until = time.monotonic() + 5
    while len(read) < (world.rank > 0) and time.monotonic() < until:
        with suppress(BlockingIOError):
            read.append(channel._socket.recv(99, socket.MSG_DONTWAIT))
    with suppress(BlockingIOError):
        read.append(channel._socket.recv(99, socket.MSG_DONTWAIT))
    assert read == [head(key, mask_of([world.rank]), world.rank, (0,)) + b"x"] * (world.rank > 0)
    carrier.close()


@pytest.mark.parametrize("everywhere", [True, False], ids=["on all ranks", "on the last rank"])
def test_without_multicast_all_use_groups(everywhere: bool, caplog: pytest.LogCaptureFixture) -> None:
    opened("ip").close()
    world = MPI.COMM_WORLD
    hit = world.size > 1 and (everywhere or world.rank == world.size - 1)
    carrier = open_carrier(world, "ip", drop=lambda: hit)
    assert carrier.name == ("groups" if world.size > 1 else "ip")
    carrier.close()
    warned = [record.getMessage() for record in caplog.records]
    assert len(warned) == (world.rank == 0 < world.size - 1)
    for text in warned:
        assert f"rank {0 if everywhere else world.size - 1} on" in text


def test_an_interface_that_is_not_there_means_groups(caplog: pytest.LogCaptureFixture) -> None:
    world = MPI.COMM_WORLD
    carrier = open_carrier(world, "ip", interface="nowhere0" if world.rank == 0 else None)
    assert carrier.name == "groups"
    assert ("joining failed" in caplog.text) == (world.rank == 0)


def test_what_may_be_chosen_from_is_the_same_everywhere() -> None:
    world = MPI.COMM_WORLD
    found = open_carriers(world, "auto")
    names = tuple(carrier.name for carrier in found)
    assert names == ("groups", "unicast"), "on one host nothing else gains anything"
    assert world.allgather(names) == [names] * world.size
    (only,) = open_carriers(world, "relay")
    assert only.name == "relay"


def test_an_unknown_transport_is_refused() -> None:
    with pytest.raises(UsageError, match="groups, unicast, ip"):
        open_carrier(MPI.COMM_WORLD, "pigeon")


@pytest.mark.mpi(min_size=3)
@pytest.mark.parametrize("name", TRANSPORTS)
@pytest.mark.parametrize("implementation", ["sequential", "parallel"])
def test_a_whole_job_measures_its_transport_and_sorts(
    mpi_tmp_path: Path, name: str, implementation: str
) -> None:
    """Calibration, map, shuffle and reduce; the report names what really carried the packets."""
    opened(name).close()
    world = MPI.COMM_WORLD
    data, output = mpi_tmp_path / "data", mpi_tmp_path / "out"
    if world.rank == 0:
        data.write_bytes(make_records("uniform", 0, 20_000).tobytes())
    world.Barrier()
    report = run_order(
        world,
        Order(
            job=load_job(str(TERASORT))(),
            job_name="terasort",
            inputs=(str(data),),
            output=str(output),
            request=Request(
                world.size - 1, scheme="solver-helper", r=1, helpers=1, implementation=implementation
            ),
            job_id="made-up",
            transport=name,
        ),
    )
    if report is not None:
        found = validate([output])
        assert found.sorted
        assert (found.records, found.checksum) == (20_000, checksum_of(data))
        document = report.to_dict()
        assert document["transport"] == name
        assert f"by transport `{name}`" in report.summary()
        assert document["measured"]["interface_bytes"] is None  # all ranks share a host
        coded, wire = document["measured"]["coded_bytes"], document["measured"]["wire_bytes"]
        assert wire == 2 * coded if name != "ip" else coded < wire < 1.5 * coded
