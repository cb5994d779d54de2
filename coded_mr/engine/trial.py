"""A trial of a transport: a small shuffle in which all ranks send, or one, and what it takes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from mpi4py import MPI

from coded_mr.engine.multicast import Carrier
from coded_mr.engine.multicast.link import SharedLink
from coded_mr.engine.packet import Value
from coded_mr.engine.shuffle import Limits, Shuffle
from coded_mr.engine.store import Store
from coded_mr.engine.waiting import barrier
from coded_mr.plan.model import Batch, Packet, Plan, Term

__all__ = ["Trial", "Trials"]


@dataclass(frozen=True)
class Trial:
    """Hold what a trial took: seconds of the slowest rank, those for setting up groups apart."""

    seconds: float
    group_seconds: float
    packets: int
    groups: int


@dataclass(frozen=True)
class Trials:
    """Try the transport of a carrier on a world, within `limits`; `link` paces the senders.

    `hosts` has the host of every rank, as a number: packets go to other hosts first.
    """

    world: MPI.Intracomm
    carrier: Carrier
    limits: Limits
    hosts: tuple[int, ...]
    link: SharedLink | None = None

    def run(self, receivers: int, size: int, *, each: int = 1, alone: bool = False) -> Trial:
        """Let all ranks, or one alone, send `each` packets of so many bytes to so many others; collective."""
        world, plan = self.world, self._plan(receivers, each, alone)
        store = Store(plan, world.rank)
        store.put_mapped(world.rank, [Value.of(bytes(size)) for _ in range(each)])
        shuffle = Shuffle(world, plan, store, limits=self.limits, link=self.link, carrier=self.carrier)
        barrier(world)
        started = time.perf_counter()
        traffic = shuffle.run()
        barrier(world)
        whole = time.perf_counter() - started
        slowest = np.array([whole, traffic.group_seconds])
        world.Allreduce(MPI.IN_PLACE, slowest, MPI.MAX)
        seconds, groups = map(float, slowest)
        return Trial(seconds - groups, groups, len(plan.packets), len(plan.groups))

    def _plan(self, receivers: int, each: int, alone: bool) -> Plan:
        K = self.world.size
        hosts = self.hosts
        circle = sorted(range(K), key=lambda rank: (hosts[:rank].count(hosts[rank]), hosts[rank]))
        packets = tuple(
            Packet(
                circle[at],
                tuple(sorted(circle[(at + d) % K] for d in range(1, receivers + 1))),
                (Term((q,), circle[at]),),
            )
            for q in range(each)
            for at in range(1 if alone else K)
        )
        partitions = (tuple(range(each)),) * K
        batches = tuple(Batch((rank,), Fraction(1, K)) for rank in range(K))
        return Plan("probe", each, partitions, batches, packets)
