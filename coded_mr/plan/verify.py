"""Proof, from a plan alone, that every solver can decode what it must reduce; and the plan's loads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from coded_mr.errors import PlanError
from coded_mr.plan.model import Packet, Plan

__all__ = ["Verification", "verify"]


@dataclass(frozen=True)
class Verification:
    """Hold the loads computed from a plan itself.

    `computation_load` r: solvers that map a file, on average. `peak` p: the largest fraction of the input
    that one rank maps. `load` L: bits multicast over QNT, each packet as long as its longest term.
    `helper_peak`: the largest fraction that one helper maps. `most_partitions`: max |W_k|.
    """

    computation_load: Fraction
    peak: Fraction
    helper_peak: Fraction
    load: Fraction
    most_partitions: int


def verify(plan: Plan) -> Verification:
    """Prove that the plan works for any input and return its loads.

    Raises PlanError naming the first thing that is wrong: a partition that nobody reduces or two do, shares
    that do not add up to 1, a sender without the values it should encode, a receiver that cannot decode,
    a value that never arrives or arrives twice.
    """
    _check_reduces(plan)
    _check_batches(plan)
    mappers = [frozenset(batch.mappers) for batch in plan.batches]
    delivered: set[tuple[int, int]] = set()
    for number, packet in enumerate(plan.packets):
        _check_packet(plan, mappers, number, packet, delivered)
    missing = sum(len(plan.solvers) - sum(1 for k in m if plan.reduces[k]) for m in mappers) - len(delivered)
    if missing:
        solver, index = next(
            (k, b)
            for k in plan.solvers
            for b, m in enumerate(mappers)
            if k not in m and (k, b) not in delivered
        )
        raise PlanError(
            f"solver {solver} neither maps batch {index} nor receives it ({missing} such values are missing)"
        )
    return _loads(plan)


def _check_reduces(plan: Plan) -> None:
    owners = sorted(q for owned in plan.reduces for q in owned)
    if owners != list(range(plan.partitions)):
        raise PlanError(f"partitions 0..{plan.partitions - 1} must each be reduced by one rank, not {owners}")


def _check_batches(plan: Plan) -> None:
    for index, batch in enumerate(plan.batches):
        if not batch.mappers:
            raise PlanError(f"batch {index} is mapped by nobody")
        if len(set(batch.mappers)) != len(batch.mappers) or not _are_ranks(plan, batch.mappers):
            raise PlanError(
                f"batch {index} names mappers {batch.mappers}: distinct ranks 0..{plan.ranks - 1}"
            )
        if batch.share < 0:
            raise PlanError(f"batch {index} has the negative share {batch.share}")
    total = sum((batch.share for batch in plan.batches), Fraction(0))
    if total != 1:
        raise PlanError(f"the batches' shares add up to {total}, not 1")


def _are_ranks(plan: Plan, ranks: Iterable[int]) -> bool:
    return all(0 <= rank < plan.ranks for rank in ranks)


def _check_packet(
    plan: Plan, mappers: list[frozenset[int]], number: int, packet: Packet, delivered: set[tuple[int, int]]
) -> None:
    sender, terms = packet
    group = packet.group
    if not terms or not _are_ranks(plan, (sender, *group)) or len({sender, *group}) != len(group) + 1:
        raise PlanError(
            f"packet {number} from rank {sender} to {group}: sender and receivers must be distinct ranks"
        )
    for term in terms:
        if not 0 <= term.batch < len(mappers):
            raise PlanError(f"packet {number} names batch {term.batch}, which does not exist")
        if sender not in mappers[term.batch]:
            raise PlanError(
                f"packet {number}: rank {sender} must encode batch {term.batch} but does not map it"
            )
        if not plan.reduces[term.receiver]:
            raise PlanError(f"packet {number} serves rank {term.receiver}, which reduces nothing")
        if term.receiver in mappers[term.batch] or term in delivered:
            raise PlanError(f"packet {number}: rank {term.receiver} has batch {term.batch} already")
        for other in group:
            if other != term.receiver and other not in mappers[term.batch]:
                raise PlanError(
                    f"packet {number}: rank {other} cannot decode, it does not map batch {term.batch} "
                    f"that rank {term.receiver} is sent"
                )
    delivered.update(terms)


def _loads(plan: Plan) -> Verification:
    # Over one common denominator everything is an integer: exact, and fast for thousands of packets.
    unit = lcm(*(batch.share.denominator for batch in plan.batches))
    weight = [batch.share.numerator * (unit // batch.share.denominator) for batch in plan.batches]
    width = [len(owned) for owned in plan.reduces]
    mapped = [sum(weight[b] for b in batches) for batches in plan.batches_of]
    sent = sum(max(width[k] * weight[b] for k, b in packet.terms) for packet in plan.packets)
    return Verification(
        computation_load=Fraction(sum(mapped[k] for k in plan.solvers), unit),
        peak=Fraction(max(mapped), unit),
        helper_peak=Fraction(max((mapped[k] for k in plan.helpers), default=0), unit),
        load=Fraction(sent, unit * plan.partitions),
        most_partitions=max(width),
    )
