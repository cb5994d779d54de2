"""A probe of the network: what multicasts to 1, 2, ... receivers cost on a real transport."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from mpi4py import MPI

from coded_mr.engine.execution import Tools
from coded_mr.engine.packet import Value
from coded_mr.engine.profile import Network
from coded_mr.engine.shuffle import Shuffle
from coded_mr.engine.store import Store
from coded_mr.engine.waiting import barrier
from coded_mr.plan.model import Batch, Packet, Plan, Term

__all__ = ["probe_network"]

_SMALL, _MEDIUM, _LARGE, _LARGEST = 1 << 10, 4 << 10, 64 << 10, 4 << 20
_SLOW = 0.005  # seconds that medium packets take on a network on which large ones would take too long
_MANY = 8  # packets of a rank, to tell what each costs from what a shuffle costs


def probe_network(world: MPI.Intracomm, tools: Tools, partitions: int, budget: float) -> Network:
    """Measure multicasts to 1, 2, ... receivers with all ranks sending; collective.

    A shuffle takes F seconds, each of its packets p, each of their bytes b(j): few small packets, many small
    ones and large ones tell them apart. More receivers are measured while the budget (seconds) lasts, each
    with packets as large as its part of the budget allows.
    """
    most = min(world.size - 1, partitions)
    if not most:
        return Network({}, 0.0, 0.0, 0.0)
    few = _exchange(world, tools, most, _SMALL)
    many = _exchange(world, tools, most, _SMALL, each=_MANY)
    packet_seconds = max(many.seconds - few.seconds, 0.0) / (many.packets - few.packets)
    fixed = max(few.seconds - few.packets * packet_seconds, 0.0)
    per_byte: dict[int, float] = {}
    counts = _receiver_counts(most)
    spent = 0.0
    for done, receivers in enumerate(counts):
        share = max(budget - spent, 0.0) / (len(counts) - done)
        per_byte[receivers], took = _byte_seconds(world, tools, receivers, share, fixed, packet_seconds)
        spent += took
        # One receiver tells nothing of many: both ends of the range are measured on the slowest network.
        if done and spent > budget:
            break
    return Network(_undisturbed(per_byte), packet_seconds, many.group_seconds / max(many.groups, 1), fixed)


def _undisturbed(per_byte: Mapping[int, float]) -> dict[int, float]:
    """Return the costs such that more receivers never cost less: what disturbs a probe makes it slower."""
    return {j: min(cost for more, cost in per_byte.items() if more >= j) for j in sorted(per_byte)}


def _byte_seconds(
    world: MPI.Intracomm, tools: Tools, receivers: int, budget: float, fixed: float, packet_seconds: float
) -> tuple[float, float]:
    """Return the seconds for a byte to so many receivers, and how long it took to find out."""
    size = _MEDIUM
    found = _exchange(world, tools, receivers, size)
    spent = found.seconds
    beside = fixed + found.packets * packet_seconds
    if found.seconds - beside < _SLOW:
        size = _LARGE
        found = _exchange(world, tools, receivers, size)
        spent += found.seconds
        while size < _LARGEST and 4 * found.seconds < budget - spent:
            size *= 4
            found = _exchange(world, tools, receivers, size)
            spent += found.seconds
    # The better of two, for the same reason.
    again = _exchange(world, tools, receivers, size)
    whole = min(found.seconds, again.seconds)
    # A transfer too short to stand out from what comes with it is at least a part of the whole.
    moving = max(whole - beside, whole / 4)
    return moving / (found.packets * size), spent + again.seconds


def _receiver_counts(most: int) -> list[int]:
    """Return 1, the most, and numbers between, in the order in which they matter."""
    between = [j for j in (3, 2, 4, 6, 8, 12, 16, 24, 32) if j < most]
    return list(dict.fromkeys([1, most, *between])) if most else []


@dataclass(frozen=True)
class _Exchange:
    """What a probe took: seconds of the slowest rank."""

    seconds: float
    group_seconds: float
    packets: int
    groups: int


def _exchange(world: MPI.Intracomm, tools: Tools, receivers: int, size: int, each: int = 1) -> _Exchange:
    """Let every rank send `each` packets of one value to the ranks after it, as in a shuffle."""
    K = world.size
    packets = tuple(
        Packet(
            sender, tuple(sorted((sender + d) % K for d in range(1, receivers + 1))), (Term((q,), sender),)
        )
        for q in range(each)
        for sender in range(K)
    )
    partitions = (tuple(range(each)),) * K
    batches = tuple(Batch((rank,), Fraction(1, K)) for rank in range(K))
    plan = Plan("probe", each, partitions, batches, packets)
    store = Store(plan, world.rank)
    store.put_mapped(world.rank, [Value.of(bytes(size)) for _ in range(each)])
    shuffle = Shuffle(world, plan, store, limits=tools.limits, link=tools.link, carrier=tools.carrier)
    barrier(world)
    started = time.perf_counter()
    traffic = shuffle.run()
    barrier(world)
    whole = time.perf_counter() - started
    slowest = np.array([whole, traffic.group_seconds])
    world.Allreduce(MPI.IN_PLACE, slowest, MPI.MAX)
    seconds, groups = map(float, slowest)
    return _Exchange(seconds - groups, groups, len(packets), len(plan.groups))
