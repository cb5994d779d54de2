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
    """Name one intermediate value inside a packet: what `receiver` reduces, of one batch.

    A solver that reduces several partitions W_k receives V[q, batch] for all q in W_k, joined in order.
    """

    receiver: int
    batch: int


class Batch(NamedTuple):
    """Name the ranks that map the same files (B_{i,A} of the paper) and the files' share of the input."""

    mappers: tuple[int, ...]
    share: Fraction


class Packet(NamedTuple):
    """Describe one coded packet Y: `sender` multicasts the XOR of the terms to their receivers."""

    sender: int
    terms: tuple[Term, ...]

    @property
    def group(self) -> tuple[int, ...]:
        """Return the receivers S, in the order of the terms."""
        return tuple(term.receiver for term in self.terms)


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
        return tuple(rank for rank, owned in enumerate(self.reduces) if not owned)

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
        return tuple(dict.fromkeys(packet.group for packet in self.packets if len(packet.terms) > 1))

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
                "format": "coded-mr-plan/1",
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
        if document["format"] != "coded-mr-plan/1":
            raise PlanError(f"plan format {document['format']!r} is not coded-mr-plan/1")
        return cls(
            scheme=str(document["scheme"]),
            partitions=int(document["partitions"]),
            reduces=tuple(tuple(map(int, owned)) for owned in document["reduces"]),
            batches=tuple(
                Batch(tuple(map(int, mappers)), Fraction(share)) for mappers, share in document["batches"]
            ),
            packets=tuple(
                Packet(int(sender), tuple(Term(int(receiver), int(batch)) for receiver, batch in terms))
                for sender, terms in document["packets"]
            ),
        )
