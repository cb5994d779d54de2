"""Proof, from a plan alone, that every solver can decode what it must reduce; and the plan's loads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from coded_mr.errors import PlanError
from coded_mr.plan.model import Packet, Plan

__all__ = ["MAX_COMBINED", "Verification", "verify"]

# So many powers of a generator of GF(2^8) differ, and so many terms can a packet of several rows combine.
MAX_COMBINED = 255


@dataclass(frozen=True)
class Verification:
    """Hold the loads computed from a plan itself.

    `computation_load` r: solvers that map a file, on average. `peak` p: the largest fraction of the input
    that one rank maps. `load` L: bits multicast over QNT, each packet as long as its longest term.
    `helper_peak`: the largest fraction that one helper maps. `most_partitions`: max |W_k|.
    `traffic`: (receivers, load), the load of the packets with so many receivers; adds up to `load`.
    """

    computation_load: Fraction
    peak: Fraction
    helper_peak: Fraction
    load: Fraction
    most_partitions: int
    traffic: tuple[tuple[int, Fraction], ...]


def verify(plan: Plan) -> Verification:
    """Prove that the plan works for any input and return its loads.

    Raises PlanError naming the first thing that is wrong: a partition that nobody reduces, shares that do
    not add up to 1, a sender without the values it should encode, a receiver that cannot decode, a value
    that never arrives or arrives twice.
    """
    _check_reduces(plan)
    _check_batches(plan)
    arrivals = _Arrivals(plan)
    for number, packet in enumerate(plan.packets):
        arrivals.add(number, packet, _check_packet(plan, number, packet))
    arrivals.check_complete()
    return _loads(plan)


def _check_reduces(plan: Plan) -> None:
    reducers = Counter(q for owned in plan.reduces for q in set(owned))
    if sorted(reducers) != list(range(plan.partitions)) or sum(map(len, plan.reduces)) != reducers.total():
        raise PlanError(
            f"partitions 0..{plan.partitions - 1} must each be reduced, once by a rank, not {plan.reduces}"
        )
    if len(set(reducers.values())) > 1:
        raise PlanError(f"all partitions must be reduced by equally many ranks, not {dict(reducers)}")


def _check_batches(plan: Plan) -> None:
    everyone = range(plan.ranks)
    for index, batch in enumerate(plan.batches):
        if not batch.mappers:
            raise PlanError(f"batch {index} is mapped by nobody")
        if len(set(batch.mappers)) != len(batch.mappers) or not all(k in everyone for k in batch.mappers):
            raise PlanError(
                f"batch {index} names mappers {batch.mappers}: distinct ranks 0..{plan.ranks - 1}"
            )
        if batch.share < 0:
            raise PlanError(f"batch {index} has the negative share {batch.share}")
    total = sum((batch.share for batch in plan.batches), Fraction(0))
    if total != 1:
        raise PlanError(f"the batches' shares add up to {total}, not 1")


def _check_packet(plan: Plan, number: int, packet: Packet) -> list[list[int]]:
    """Return, for every receiver, the indices of the terms that it lacks."""
    sender, receivers, terms, rows = packet
    named = {sender, *receivers}
    if not terms or not receivers or rows < 1 or len(named) != len(receivers) + 1:
        raise PlanError(f"packet {number} needs terms, rows and distinct receivers that are not its sender")
    if min(named) < 0 or max(named) >= plan.ranks:
        raise PlanError(f"packet {number} names ranks {sorted(named)}: there are 0..{plan.ranks - 1}")
    for term in terms:
        if not 0 <= term.batch < len(plan.batches):
            raise PlanError(f"packet {number} names batch {term.batch}, which does not exist")
        if sender not in plan.mapped_by[term.batch]:
            raise PlanError(
                f"packet {number}: rank {sender} must encode batch {term.batch} but does not map it"
            )
        if not 0 <= term.segment < term.segments or not term.partitions:
            raise PlanError(f"packet {number} has the malformed term {term}")
    if rows > 1 and len(terms) > MAX_COMBINED:
        raise PlanError(
            f"packet {number} combines {len(terms)} terms in {rows} rows: "
            f"no more than {MAX_COMBINED} can be told apart"
        )
    known = [plan.mapped_by[term.batch] for term in terms]
    lacking = [[i for i, mappers in enumerate(known) if receiver not in mappers] for receiver in receivers]
    for receiver, indices in zip(receivers, lacking, strict=True):
        if not 1 <= len(indices) <= rows:
            raise PlanError(
                f"packet {number}: rank {receiver} cannot use it, it lacks {len(indices)} of its terms "
                f"and {rows} can be solved for"
            )
    return lacking


class _Arrivals:
    """What every receiver has been sent: segments of V[q, batch], none twice."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._reduced = [frozenset(owned) for owned in plan.reduces]
        self._unfinished = 0
        self._parts: dict[tuple[int, tuple[int, ...], int, int], int] = {}
        self._complete: set[tuple[int, int, int]] = set()

    def add(self, number: int, packet: Packet, lacking: Sequence[Sequence[int]]) -> None:
        for receiver, indices in zip(packet.receivers, lacking, strict=True):
            for index in indices:
                partitions, batch, segment, segments = packet.terms[index]
                if not self._reduced[receiver].issuperset(partitions):
                    raise PlanError(f"packet {number} sends rank {receiver} partitions it does not reduce")
                key = (receiver, partitions, batch, segments)
                have, new = self._parts.get(key, 0), 1 << segment
                if have & new:
                    raise PlanError(
                        f"packet {number}: rank {receiver} has that part of batch {batch} already"
                    )
                self._parts[key] = have | new
                self._unfinished += not have
                if have | new == (1 << segments) - 1:
                    self._finish(number, receiver, partitions, batch)

    def _finish(self, number: int, receiver: int, partitions: tuple[int, ...], batch: int) -> None:
        self._unfinished -= 1
        for q in partitions:
            if (receiver, q, batch) in self._complete:
                raise PlanError(f"packet {number}: rank {receiver} has batch {batch} already")
            self._complete.add((receiver, q, batch))

    def check_complete(self) -> None:
        plan = self._plan
        due = sum(len(plan.reduces[k]) * (len(plan.batches) - len(plan.batches_of[k])) for k in plan.solvers)
        if due != len(self._complete):
            solver, q, batch = next(
                (k, q, b)
                for k in plan.solvers
                for b, mappers in enumerate(plan.mapped_by)
                for q in plan.reduces[k]
                if k not in mappers and (k, q, b) not in self._complete
            )
            raise PlanError(
                f"solver {solver} neither maps batch {batch} nor receives all of its partition {q} "
                f"({due - len(self._complete)} such values are missing)"
            )
        if self._unfinished:
            receiver, partitions, batch, segments = next(
                key for key, parts in self._parts.items() if parts != (1 << key[3]) - 1
            )
            raise PlanError(
                f"rank {receiver} receives some of {segments} segments of batch {batch} for partitions "
                f"{partitions} and never the others"
            )


def _loads(plan: Plan) -> Verification:
    # Over one common denominator everything is an integer: exact, and fast for thousands of packets.
    segments = lcm(*{term.segments for packet in plan.packets for term in packet.terms})
    unit = lcm(*(batch.share.denominator for batch in plan.batches)) * segments
    weight = [batch.share.numerator * (unit // batch.share.denominator) for batch in plan.batches]
    mapped = [sum(weight[b] for b in batches) for batches in plan.batches_of]
    sent: Counter[int] = Counter()
    for packet in plan.packets:
        longest = max(len(t.partitions) * weight[t.batch] // t.segments for t in packet.terms)
        sent[len(packet.receivers)] += packet.rows * longest
    whole = unit * plan.partitions
    return Verification(
        computation_load=Fraction(sum(mapped[k] for k in plan.solvers), unit),
        peak=Fraction(max(mapped), unit),
        helper_peak=Fraction(max((mapped[k] for k in plan.helpers), default=0), unit),
        load=Fraction(sent.total(), whole),
        most_partitions=max(map(len, plan.reduces)),
        traffic=tuple((j, Fraction(amount, whole)) for j, amount in sorted(sent.items())),
    )
