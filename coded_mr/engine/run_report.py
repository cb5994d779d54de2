"""What a run did: for people in a few lines, for programs as JSON, for `_SUCCESS`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from coded_mr.engine.conservation import RankCount, input_bytes, intermediate_bytes
from coded_mr.engine.profile import Profile
from coded_mr.engine.spread import spreads
from coded_mr.engine.versions import seeds, versions
from coded_mr.plan.bound import lower_bound
from coded_mr.plan.candidate import Candidate
from coded_mr.plan.model import Plan
from coded_mr.plan.planner import Decision
from coded_mr.plan.verify import Verification
from coded_mr.text import bytes_text, counted

if TYPE_CHECKING:
    from coded_mr.topology import Placement

__all__ = ["RunReport"]

# The candidates that a report lists, the fastest first.
_SHOWN = 20


@dataclass(frozen=True)
class RunReport:
    """Hold a finished run: what was planned, predicted, counted and measured on every rank."""

    job_id: str
    job: str
    parameters: Mapping[str, Any]
    inputs: tuple[str, ...]
    output: str
    plan: Plan
    verification: Verification
    decision: Decision
    profile: Profile | None
    measured_now: bool
    files: int
    world: int
    transport: str
    ranks: tuple[RankCount, ...]
    placement: Placement | None = None

    @property
    def coded_bytes(self) -> int:
        """Return the bytes multicast, each packet once, padding and headers included."""
        return sum(count.traffic.sent_payload + count.traffic.sent_header for count in self.ranks)

    @property
    def header_bytes(self) -> int:
        """Return the bytes of packet headers within the coded bytes."""
        return sum(count.traffic.sent_header for count in self.ranks)

    @property
    def padding_bytes(self) -> int:
        """Return the coded bytes that are there only because a packet's members differ in length."""
        return round(sum(count.traffic.sent_payload - count.traffic.sent_even for count in self.ranks))

    @property
    def delivered_bytes(self) -> int:
        """Return the wire bytes of this transport: packets, every copy and repair that was sent."""
        return sum(count.traffic.sent_wire for count in self.ranks)

    @property
    def interface_bytes(self) -> int | None:
        """Return what the hosts' network interfaces sent during the shuffle; None without such counters."""
        counts = [c.traffic.interface for c in self.ranks if c.rank < self.plan.ranks]
        known = [count for count in counts if count is not None]
        return sum(known) if known and len(known) == len(counts) else None

    @property
    def intermediate_bytes(self) -> int:
        """Return QNT in bytes."""
        return intermediate_bytes(self.ranks)

    @property
    def load(self) -> float:
        """Return the measured communication load: coded bytes over QNT."""
        return self.coded_bytes / self.intermediate_bytes if self.intermediate_bytes else 0.0

    def slowest(self, stage: str) -> float:
        """Return the longest time that a rank spent in a stage, in seconds."""
        return max(sum(part.seconds for part in count.stages if part.name == stage) for count in self.ranks)

    @property
    def total_seconds(self) -> float:
        """Return the time from the first map to the last reduce.

        Map, shuffle and reduce of the slowest rank each, added up; map and shuffle that overlap count once.
        """
        first, last = self.slowest("map") + self.slowest("shuffle"), self.slowest("reduce")
        if self.decision.request.implementation == "parallel":
            first = max(self._end("map"), self._end("shuffle"))
        return first + last

    @property
    def exposed_seconds(self) -> float:
        """Return how long after the last map the last packet came: what of the shuffle no map hides."""
        return max(self._end("shuffle") - self._end("map"), 0.0)

    @cached_property
    def bound(self) -> Fraction:
        """Return the least load that the plan's placement allows (Lemma 1)."""
        return lower_bound(self.plan)

    def _end(self, stage: str) -> float:
        """Return when the last rank ended a stage, in seconds since its work began."""
        return max(
            (part.stop for count in self.ranks for part in count.stages if part.name == stage), default=0.0
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything, JSON-ready: bytes and seconds as numbers, exact fractions as strings."""
        chosen = self.decision.chosen
        return {
            "format": "coded-mr-run/1",
            "job_id": self.job_id,
            "job": self.job,
            "parameters": dict(self.parameters),
            "inputs": list(self.inputs),
            "output": self.output,
            "transport": self.transport,
            "implementation": self.decision.request.implementation,
            "plan": self._plan_numbers(),
            "costs": self._cost_numbers(),
            "machine": self._machine_numbers(),
            "profile": self.profile.to_dict() if self.profile else None,
            "predicted": {
                "load": str(self.verification.load),
                "bound": str(self.bound),
                "peak": str(self.verification.peak),
                "total_seconds": float(chosen.total),
                "map_seconds": float(chosen.t_map),
                "shuffle_seconds": float(chosen.t_shuffle),
                "reduce_seconds": float(chosen.t_reduce),
            },
            "measured": {
                "load": self.load,
                "total_seconds": self.total_seconds,
                "map_seconds": self.slowest("map"),
                "shuffle_seconds": self.slowest("shuffle"),
                "reduce_seconds": self.slowest("reduce"),
                "exposed_seconds": self.exposed_seconds,
                "coded_bytes": self.coded_bytes,
                "header_bytes": self.header_bytes,
                "padding_bytes": self.padding_bytes,
                "wire_bytes": self.delivered_bytes,
                "interface_bytes": self.interface_bytes,
                "intermediate_bytes": self.intermediate_bytes,
            },
            "counts": self._counts(),
            "considered": len(self.decision.considered),
            "candidates": [self._candidate(each) for each in self.decision.considered[:_SHOWN]],
            "spreads": spreads(self.ranks, {count.rank: self._role(count.rank) for count in self.ranks}),
            "versions": versions(),
            "seeds": seeds(),
            "hosts": self._hosts(),
            "network": None if self.placement is None else self.placement.to_dict(),
            "ranks": [self._rank(count) for count in self.ranks],
        }

    def success(self) -> dict[str, Any]:
        """Return what `_SUCCESS` says: the plan, the counts, and each part's size and checksum."""
        parts = [part for count in self.ranks for part in count.parts.values()]
        return {
            "format": "coded-mr-success/1",
            "job_id": self.job_id,
            "job": self.job,
            "plan": self._plan_numbers(),
            "counts": self._counts(),
            "parts": [dataclasses.asdict(part) for part in sorted(parts, key=lambda part: part.name)],
        }

    def summary(self) -> str:
        """Return what a person wants to know first: where the result is, the plan, predicted and measured."""
        counts = self._counts()
        rows = [
            f"result    {self.output} ({counted(self.plan.partitions, 'part')}, "
            f"{counted(counts['records_out'], 'record')})",
            f"plan      {self.plan.describe()}",
            *(f"          {reason}" for reason in self.decision.reasons),
            f"input     {counted(counts['files'], 'file')}, {bytes_text(counts['bytes_in'])}, "
            f"{counted(counts['records_mapped'], 'record')} mapped",
            f"load      predicted {float(self.verification.load):.4f} (bound {float(self.bound):.4f}), "
            f"measured {self.load:.4f}: "
            f"{bytes_text(self.coded_bytes)} coded of {bytes_text(self.intermediate_bytes)} "
            f"(padding {bytes_text(self.padding_bytes)}, headers {bytes_text(self.header_bytes)})",
            f"wire      {self._wire()}",
            *(f"{'' if at else 'network':10}{line}" for at, line in enumerate(self._network())),
            "seconds   predicted "
            + ", ".join(f"{name} {float(value):.3f}" for name, value in self._predicted_times())
            + "; measured "
            + ", ".join(f"{name} {self.slowest(name):.3f}" for name in ("map", "shuffle", "reduce")),
            *self._remarks(),
        ]
        return "\n".join(rows)

    def _cost_numbers(self) -> dict[str, float]:
        costs = self.decision.machine.costs
        return {"c_m": float(costs.map), "c_s": float(costs.shuffle), "c_r": float(costs.reduce)}

    def _machine_numbers(self) -> dict[str, Any]:
        machine = self.decision.machine
        return {
            "beta": list(map(float, machine.beta or (1,))),
            "alone": list(map(float, machine.alone or (0,))),
            "padding": list(map(float, machine.padding or (1,))),
            "packet_seconds": float(machine.packet),
            "group_seconds": float(machine.group),
            "shuffle_seconds": float(machine.start),
            "map_slots": {str(count): float(served) for count, served in machine.map_slots},
            "reduce_slots": {str(count): float(served) for count, served in machine.reduce_slots},
            "memory_bytes": self.decision.chosen.memory,
        }

    def _remarks(self) -> list[str]:
        lines = []
        if self.decision.request.implementation == "parallel":
            lines.append(
                f"overlap   the last packet came {self.exposed_seconds:.3f} s after the last map; "
                f"map and shuffle took {self.total_seconds - self.slowest('reduce'):.3f} s together"
            )
        if self.profile is not None and self.measured_now:
            spent = self.profile.seconds / (self.profile.seconds + self.total_seconds)
            lines.append(f"costs     measured in {self.profile.seconds:.3f} s, {spent:.1%} of the run")
        return lines

    def _wire(self) -> str:
        text = f"{bytes_text(self.delivered_bytes)} by transport `{self.transport}`, as counted by the ranks"
        if self.interface_bytes is not None:
            text += f"; {bytes_text(self.interface_bytes)} by the interfaces of the hosts"
        repairs = sum(count.traffic.repairs for count in self.ranks)
        rest = sum(count.traffic.rest for count in self.ranks)
        if repairs or rest:
            datagrams = sum(count.traffic.datagrams for count in self.ranks)
            text += f"; {counted(repairs, 'repair')} among {counted(datagrams, 'datagram')}"
            text += f", {counted(rest, 'piece')} by MPI"
        return text

    def _network(self) -> tuple[str, ...]:
        return () if self.placement is None else self.placement.describe()

    def _predicted_times(self) -> list[tuple[str, Any]]:
        chosen = self.decision.chosen
        return [("map", chosen.t_map), ("shuffle", chosen.t_shuffle), ("reduce", chosen.t_reduce)]

    def _plan_numbers(self) -> dict[str, Any]:
        optimum = self.decision.optimum
        return {
            "scheme": self.plan.scheme,
            "partitions": self.plan.partitions,
            "solvers": len(self.plan.solvers),
            "helpers": len(self.plan.helpers),
            "spares": self.world - len(self.plan.solvers) - len(self.plan.helpers),
            "r": str(self.verification.computation_load),
            "batches": len(self.plan.batches),
            "packets": len(self.plan.packets),
            "groups": len(self.plan.groups),
            "r_star": str(optimum.r_star),
            "k_star": optimum.k_star,
            "reasons": list(self.decision.reasons),
        }

    def _counts(self) -> dict[str, int]:
        ranks = self.ranks
        return {
            "files": self.files,
            "bytes_in": input_bytes(ranks),
            "records_mapped": sum(count.spoken_records for count in ranks),
            "pairs_shuffled": sum(part.pairs for count in ranks for part in count.mapped.values()),
            "intermediate_bytes": self.intermediate_bytes,
            "groups_reduced": sum(count.groups_reduced for count in ranks),
            "records_out": sum(count.records_out for count in ranks),
            "bytes_out": sum(part.bytes for count in ranks for part in count.parts.values()),
        }

    def _rank(self, count: RankCount) -> dict[str, Any]:
        return {
            "rank": count.rank,
            "host": count.host,
            "role": self._role(count.rank),
            "files": count.files,
            "bytes_in": count.bytes_in,
            "records_mapped": count.records,
            "records_out": count.records_out,
            "peak_bytes": count.peak_bytes,
            "traffic": dataclasses.asdict(count.traffic),
            "stages": [dataclasses.asdict(stage) for stage in count.stages],
        }

    def _candidate(self, candidate: Candidate) -> dict[str, Any]:
        return {
            "scheme": candidate.scheme,
            "solvers": candidate.solvers,
            "helpers": candidate.helpers,
            "r": str(candidate.r),
            "load": str(candidate.load),
            "packets": candidate.packets,
            "map_seconds": float(candidate.t_map),
            "shuffle_seconds": float(candidate.t_shuffle),
            "reduce_seconds": float(candidate.t_reduce),
            "total_seconds": float(candidate.total),
            "chosen": candidate == self.decision.chosen,
        }

    def _hosts(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for count in self.ranks:
            found.setdefault(count.host, []).append(count.rank)
        return found

    def _role(self, rank: int) -> str:
        if rank in self.plan.solvers:
            return "solver"
        return "helper" if rank in self.plan.helpers else "spare"
