"""Files shared out among several plans, which are carried out as one: memory sharing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from heapq import merge

from coded_mr.errors import PlanError
from coded_mr.plan.model import Batch, Packet, Plan, Term
from coded_mr.plan.schemes.solver_helper import solver_helper
from coded_mr.plan.schemes.symmetric import symmetric
from coded_mr.theory import allocation
from coded_mr.theory.constrained import Mixture
from coded_mr.theory.costs import Costs

__all__ = ["hybrid", "mixture", "parallel", "shared", "sliced"]


def shared(plans: Sequence[tuple[Plan, Fraction]], scheme: str) -> Plan:
    """Join plans, each for its fraction of the files, into one plan of that scheme's name.

    Its computation load and communication load are the plans' means, weighted by the fractions. Batches
    come in the order of the plans; each plan's packets keep their order, spread evenly over the schedule.
    In a plan for fewer ranks the last ones do nothing; a plan with fraction 0 is left out.

    Raises PlanError unless the fractions are 0 or more and add up to 1, and all plans deal the same
    partitions to the same ranks.
    """
    used = [(plan, share) for plan, share in plans if share]
    total = sum((share for _, share in used), Fraction(0))
    if total != 1 or any(share < 0 for _, share in used):
        given = ", ".join(str(share) for _, share in plans)
        raise PlanError(f"plans cannot share the files as {given}: fractions of 0 or more that add up to 1")
    ranks = max(plan.ranks for plan, _ in used)
    reduces = {plan.reduces + ((),) * (ranks - plan.ranks) for plan, _ in used}
    partitions = {plan.partitions for plan, _ in used}
    if len(reduces) > 1 or len(partitions) > 1:
        raise PlanError(f"plans that deal the partitions differently cannot share files: {sorted(reduces)}")
    offsets = [sum(len(plan.batches) for plan, _ in used[:index]) for index in range(len(used))]
    return Plan(
        scheme=scheme,
        partitions=partitions.pop(),
        reduces=reduces.pop(),
        batches=tuple(
            Batch(batch.mappers, batch.share * share) for plan, share in used for batch in plan.batches
        ),
        packets=_interleaved(
            [
                [_moved(packet, offset) for packet in plan.packets]
                for (plan, _), offset in zip(used, offsets, strict=True)
            ]
        ),
    )


def sliced(plan: Plan, count: int) -> Plan:
    """Carry a plan out in so many slices of the files, one after the other in the schedule.

    The loads stay what they are. With smaller batches the first packets need less to be mapped, so that
    map and shuffle overlap nearly as the theory assumes: the excess falls as 1 / count.

    Raises PlanError for less than one slice.
    """
    if count < 1:
        raise PlanError(f"a plan cannot be carried out in {count} slices: one or more")
    size = len(plan.batches)
    return Plan(
        scheme=plan.scheme,
        partitions=plan.partitions,
        reduces=plan.reduces,
        batches=tuple(Batch(b.mappers, b.share / count) for _ in range(count) for b in plan.batches),
        packets=tuple(_moved(packet, i * size) for i in range(count) for packet in plan.packets),
    )


def parallel(partitions: int, helpers: int | None, costs: Costs) -> Plan:
    """Plan the optimum of Theorem 2 for map and shuffle in parallel: one solver a partition, and helpers.

    A fraction alpha of the files is at degree ceil(r*), the rest at the degree below, each by the
    solver-helper scheme; files that all solvers map are on no helper and never travel. `helpers` None
    means as many as K* says; with fewer, helpers map more than the optimum wants, with more, less.

    Raises PlanError for less than one helper, UsageError for partitions below 1.
    Source: Yu et al. 2017 (arXiv 1702.07297), Theorem 2.
    """
    optimum = allocation.parallel(partitions, costs)
    count = optimum.helpers if helpers is None else helpers
    return shared(
        [(_helped(partitions, partitions, r, count or 0), share) for r, share in optimum.parts], "parallel"
    )


def mixture(found: Mixture) -> Plan:
    """Plan a mixture of `coded_mr.theory.mixture`: its peak and load are the plan's.

    Helpers' parts are solver-helper plans; the solvers' own are symmetric ones among the solvers.
    """
    return _mixed(found, "mixture")


def hybrid(found: Mixture) -> Plan:
    """Plan a hybrid of `coded_mr.theory.hybrid`, as `mixture` does.

    Raises PlanError when it has more than one degree for helpers, or for solvers.
    """
    kinds = [part.kind for part in found.parts]
    if len(set(kinds)) < len(kinds):
        raise PlanError(f"a hybrid has one degree for helpers and one for solvers, not {found.parts}")
    return _mixed(found, "hybrid")


def _mixed(found: Mixture, scheme: str) -> Plan:
    partitions, solvers = found.partitions, found.solvers
    return shared(
        [
            (
                _helped(partitions, solvers, r, found.helpers)
                if kind == "helper"
                else symmetric(partitions, solvers, r),
                fraction,
            )
            for kind, r, fraction in found.parts
        ],
        scheme,
    )


def _helped(partitions: int, solvers: int, r: int, helpers: int) -> Plan:
    return solver_helper(partitions, solvers, r, helpers if r < solvers else 0)


def _moved(packet: Packet, offset: int) -> Packet:
    """Return a packet whose batches are numbered after so many others."""
    sender, receivers, terms, rows = packet
    moved = (Term(partitions, batch + offset, *segment) for partitions, batch, *segment in terms)
    return Packet(sender, receivers, tuple(moved), rows)


def _interleaved(schedules: Sequence[Sequence[Packet]]) -> tuple[Packet, ...]:
    """Merge schedules; packet i of n of one is due after a fraction (2 i + 1) / (2 n) of the whole."""

    def due(schedule: Sequence[Packet]) -> Iterator[tuple[float, Packet]]:
        return (((2 * i + 1) / (2 * len(schedule)), packet) for i, packet in enumerate(schedule))

    merged = merge(*map(due, schedules), key=lambda timed: timed[0])
    return tuple(packet for _, packet in merged)
