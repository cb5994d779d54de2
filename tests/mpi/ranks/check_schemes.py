"""Every scheme carried out over MPI: whatever the plan, each reducer gets each of its values."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from math import comb

import pytest
from mpi4py import MPI

from coded_mr.engine.packet import Value, segment_span
from coded_mr.engine.shuffle import Limits, Shuffle
from coded_mr.engine.store import Store
from coded_mr.plan.model import Plan
from coded_mr.plan.schemes import cascaded, hybrid, mixture, parallel, replicated, resolvable, symmetric
from coded_mr.theory.constrained import Mixture, Part
from coded_mr.theory.costs import Costs

pytestmark = pytest.mark.mpi

SIZES = (4, 6)

LIMITS = {
    "wide": None,
    "narrow": Limits(packets=1, bytes=1, chunk=97, groups=1),
    "middle": Limits(packets=3, bytes=300, chunk=64, groups=2),
}


def plans(ranks: int) -> Iterator[Plan]:
    """Yield plans of all schemes that use exactly these ranks, with equal bundles and with uneven ones."""
    for r in range(1, ranks + 1):
        yield symmetric(ranks + r % 2, ranks, r)
        yield replicated(2 * ranks - r % 2, ranks, r)
    for r, s in {4: [(1, 2), (2, 2), (2, 3), (3, 2), (2, 4), (4, 2)], 6: [(2, 2), (3, 2), (2, 5)]}[ranks]:
        yield cascaded(comb(ranks, s) + r % 2, ranks, r, s)
    for q, k in {4: [(2, 2)], 6: [(3, 2), (2, 3)]}[ranks]:
        yield resolvable(ranks, q, k)
        yield resolvable(ranks + 1, q, k)
    yield from shared_plans(ranks)


def shared_plans(ranks: int) -> Iterator[Plan]:
    """Yield plans that have several parts, with a helper and with as many as half of the ranks."""
    costs = Costs(1, 2, 1)
    yield parallel(ranks - 1, 1, Costs(1, 100, 1))
    yield parallel(ranks // 2, ranks - ranks // 2, costs)
    for helpers in (1, ranks // 2):
        solvers = ranks - helpers
        low, high = Part("helper", 0, Fraction(1, 4)), Part("helper", 1, Fraction(1, 4))
        own = Part("cdc", 2, Fraction(1, 2))
        yield mixture(Mixture("parallel", solvers + 1, costs, solvers, helpers, (low, high, own)))
        both = (high._replace(fraction=Fraction(1, 2)), own)
        yield hybrid(Mixture("sequential", solvers, costs, solvers, helpers, both))


def values(plan: Plan, seed: int) -> dict[tuple[int, int], bytes]:
    """Return V[q, batch] for all: of very different lengths, some empty."""
    source = random.Random(seed)
    return {
        (q, b): source.randbytes(source.choice((0, 1, 5, 63, 64, 65, 400)))
        for q in range(plan.partitions)
        for b in range(len(plan.batches))
    }


def payload_bytes(plan: Plan, held: dict[tuple[int, int], bytes]) -> int:
    """Return what all packets hold together: each its rows, as long as its longest segment."""
    total = 0
    for packet in plan.packets:
        spans = [
            segment_span(term, sum(len(held[q, term.batch]) for q in term.partitions))
            for term in packet.terms
        ]
        total += packet.rows * max(stop - start for start, stop in spans)
    return total


@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS)
def test_every_reducer_gets_every_value(limits: Limits | None) -> None:
    world = MPI.COMM_WORLD
    for number, plan in enumerate(plans(world.size)):
        assert plan.ranks == world.size
        held = values(plan, number)
        store = Store(plan, world.rank)
        for batch in plan.batches_of[world.rank]:
            store.put_mapped(batch, [Value.of(held[q, batch]) for q in range(plan.partitions)])
        shuffle = Shuffle(world, plan, store, limits=limits)
        shuffle.run()
        for q in plan.reduces[world.rank]:
            taken = [bytes(value.data) for value in store.take_partition(q)]
            assert taken == [held[q, b] for b in range(len(plan.batches))], plan.describe()
        assert store.bytes == 0, plan.describe()
        traffic = world.allgather(shuffle.traffic)
        assert sum(t.due for t in traffic) == sum(t.received for t in traffic)
        assert sum(t.sent_payload for t in traffic) == payload_bytes(plan, held)
