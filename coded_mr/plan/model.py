"""The `Plan` value: batches, partitions and coded packets of one job, as plain data.

Ranks, batches and partitions count from 0 here (the papers count from 1): solver k of the paper is
rank k-1, helper i is rank i-1.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from coded_mr.errors import PlanError
from coded_mr.text import counted

__all__ = ["Batch", "Packet", "Plan", "Term"]


class Term(NamedTuple):
    """Name what a packet combines: V[q, batch] of some partitions q, joined in order, or one segment of it.

    With `segments` = n the joined bytes are cut into n runs of ceil(length / n) bytes, the last ones shorter;
    `segment` counts them from 0.
    """

    partitions: tuple[int, ...]
    batch: int
    segment: int = 0
    segments: int = 1


class Batch(NamedTuple):
    """Name the ranks that map the same files (B_{i,A} of the paper) and the files' share of the input."""

    mappers: tuple[int, ...]
    share: Fraction


class Packet(NamedTuple):
    """Describe one coded packet: `sender` multicasts `rows` combinations of the terms to the receivers.

    One row is the XOR of the terms, each padded to the longest (Y_{i,S} of the paper). Several rows are
    linear combinations over GF(2^8), any `rows` terms of which can be solved for (cascaded CDC).
    A receiver knows every term whose batch it maps, and lacks at most `rows` terms.
    """

    sender: int
    receivers: tuple[int, ...]
    terms: tuple[Term, ...]
    rows: int = 1


@dataclass(frozen=True)
class Plan:
    """Say who maps, who reduces and what travels; the order of `packets` is the schedule.

    Every rank walks `packets` in that one order, which is what keeps the shuffle free of deadlock.
    """

    scheme: str
    partitions: int
    reduces: tuple[tuple[int, ...], ...]
    batches: tuple[Batch, ...]
    packets: tuple[Packet, ...]

    @property
    def ranks(self) -> int:
        """Return K, the ranks that the plan needs."""
        return len(self.reduces)

    @cached_property
    def solvers(self) -> tuple[int, ...]:
        """Return the ranks that reduce."""
        return tuple(rank for rank, owned in enumerate(self.reduces) if owned)

    @cached_property
    def helpers(self) -> tuple[int, ...]:
        """Return the ranks that map and send only."""
        return tuple(rank for rank, owned in enumerate(self.reduces) if not owned and self.batches_of[rank])

    @cached_property
    def reducers_of(self) -> tuple[tuple[int, ...], ...]:
        """Return, for every partition, the ranks that reduce it; the first one writes the result."""
        found: list[list[int]] = [[] for _ in range(self.partitions)]
        for rank, owned in enumerate(self.reduces):
            for q in owned:
                found[q].append(rank)
        return tuple(map(tuple, found))

    @cached_property
    def batches_of(self) -> tuple[tuple[int, ...], ...]:
        """Return, for every rank, the batches that it maps, ascending."""
        mapped: list[list[int]] = [[] for _ in self.reduces]
        for index, batch in enumerate(self.batches):
            for rank in batch.mappers:
                mapped[rank].append(index)
        return tuple(map(tuple, mapped))

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Return the multicast groups S of two and more receivers, each once, in order of first use."""
        return tuple(dict.fromkeys(p.receivers for p in self.packets if len(p.receivers) > 1))

    @cached_property
    def mapped_by(self) -> tuple[frozenset[int], ...]:
        """Return, for every batch, the set of ranks that map it."""
        return tuple(frozenset(batch.mappers) for batch in self.batches)

    def lacks(self, rank: int, packet: Packet) -> list[int]:
        """Return the indices of the packet's terms that a rank does not know from its own map."""
        return [i for i, term in enumerate(packet.terms) if rank not in self.mapped_by[term.batch]]

    def describe(self) -> str:
        """Return one line for people."""
        return (
            f"{self.scheme}: {counted(len(self.solvers), 'solver')}, {counted(len(self.helpers), 'helper')}, "
            f"{counted(self.partitions, 'partition')}, {counted(len(self.batches), 'batch')}, "
            f"{counted(len(self.packets), 'packet')}, {counted(len(self.groups), 'multicast group')}"
        )

    def to_json(self) -> str:
        """Return the plan as JSON; shares are exact fractions written as strings."""
        return json.dumps(
            {
                "format": "coded-mr-plan/2",
                "scheme": self.scheme,
                "partitions": self.partitions,
                "reduces": self.reduces,
                "batches": [[batch.mappers, str(batch.share)] for batch in self.batches],
                "packets": self.packets,
            },
            separators=(",", ":"),
        )

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Return the plan that `to_json` wrote.

        Raises PlanError when the text is not such a plan; whether the plan works is for `verify` to say.
        """
        try:
            return cls._from_document(json.loads(text))
        except (ValueError, KeyError, TypeError, ZeroDivisionError) as error:
            raise PlanError(f"this is not a coded-mr plan in JSON: {error!r}") from error

    @classmethod
    def _from_document(cls, document: Mapping[str, Any]) -> Plan:
        if document["format"] != "coded-mr-plan/2":
            raise PlanError(f"plan format {document['format']!r} is not coded-mr-plan/2")
        return cls(
            scheme=str(document["scheme"]),
            partitions=int(document["partitions"]),
            reduces=tuple(tuple(map(int, owned)) for owned in document["reduces"]),
            batches=tuple(
                Batch(tuple(map(int, mappers)), Fraction(share)) for mappers, share in document["batches"]
            ),
            packets=tuple(
                Packet(
                    int(sender),
                    tuple(map(int, receivers)),
                    tuple(Term(tuple(map(int, term[0])), *map(int, term[1:])) for term in terms),
                    int(rows),
                )
                for sender, receivers, terms, rows in document["packets"]
            ),
        )
