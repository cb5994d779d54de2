"""Who sends which XOR to whom once it is known which servers finished first.

Li, Maddah-Ali, Avestimehr 2016 (arXiv 1609.01690), as the packets of `coded_mr.plan.model`: rank = server,
partition = the outputs of one finisher (counted as the finishers are), batch = a block of coded rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

from coded_mr.errors import UsageError
from coded_mr.linear.storage import Storage
from coded_mr.plan.model import Batch, Packet, Plan, Term
from coded_mr.plan.schedule import bundles, disjoint_rounds

__all__ = ["CodedShuffle", "shuffle"]


@dataclass(frozen=True)
class CodedShuffle:
    """Hold the packets that let every finisher reduce its outputs.

    finishers  the q servers that take part, ascending
    rows       the coded rows of each batch of the plan; V[p, batch] are the values z[row, output] of these
               rows and of the outputs of finisher p, row after row
    plan       batches and packets; the order of the packets is the schedule. `coded_mr.plan.verify` does not
               accept it: a finisher is sent what it needs to decode, and not every batch.
    """

    storage: Storage
    finishers: tuple[int, ...]
    rows: tuple[tuple[int, ...], ...]
    plan: Plan

    @cached_property
    def outputs(self) -> tuple[tuple[int, ...], ...]:
        """Return the outputs that each finisher reduces: N/q, the first ones more if q does not divide N."""
        return tuple(bundles(self.storage.point.setting.N, len(self.finishers)))

    @cached_property
    def received(self) -> tuple[tuple[int, ...], ...]:
        """Return the coded rows that each finisher is sent for all its outputs, ascending.

        With the rows that it keeps itself they are m different ones or more: enough to decode.
        """
        sent: list[set[int]] = [set() for _ in self.finishers]
        for packet in self.plan.packets:
            for term in packet.terms:
                sent[term.partitions[0]].update(self.rows[term.batch])
        return tuple(tuple(sorted(rows)) for rows in sent)

    @cached_property
    def load(self) -> Fraction:
        """Return the exact load, in units of m values: each packet is as long as its longest term."""
        sent = sum((max(map(self._values, packet.terms)) for packet in self.plan.packets), Fraction(0))
        return sent / self.storage.rows

    def _values(self, term: Term) -> Fraction:
        """Return how many values a term carries."""
        outputs = self.outputs[term.partitions[0]]
        return Fraction(len(self.rows[term.batch]) * len(outputs), term.segments)


def shuffle(storage: Storage, finishers: Iterable[int]) -> CodedShuffle:
    """Return the packets for the servers that finished first.

    Levels j = a..s_q are coded: to each j+1 finishers S, each member i sends the XOR over the others k of
    its segment of V[k, S without k]. What is still missing goes by unicast or by one more coded level,
    whichever costs less. Raises UsageError unless the finishers are q different servers.
    """
    point = storage.point
    chosen = tuple(sorted(finishers))
    if not (len(set(chosen)) == len(chosen) == point.q and set(chosen) <= set(range(point.setting.K))):
        raise UsageError(
            f"the finishers are {chosen}: this storage needs q = {point.q} different servers"
            f" out of 0..{point.setting.K - 1}"
        )
    blocks = _Blocks(storage, chosen)
    packets = [packet for j in point.levels for packet in _coded_level(blocks, j)]
    if not point.one_more_level and point.residual:
        packets.extend(_unicasts(blocks, point.s_q - 1, int(point.residual * storage.rows)))
    plan = Plan(
        scheme="first finishers",
        partitions=point.q,
        reduces=tuple(blocks.partition(server) for server in range(point.setting.K)),
        batches=tuple(Batch(owners, Fraction(len(rows), storage.coded)) for owners, rows in blocks.numbers),
        packets=tuple(packets),
    )
    return CodedShuffle(storage, chosen, tuple(rows for _, rows in blocks.numbers), plan)


class _Blocks:
    """Sort the coded rows by the finishers that keep them, and number what is sent as it is first named."""

    def __init__(self, storage: Storage, finishers: tuple[int, ...]) -> None:
        self.finishers = finishers
        self.numbers: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        self._rows: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._place = {server: (at,) for at, server in enumerate(finishers)}
        for batch in storage.batches:
            inside = tuple(server for server in batch.owners if server in self._place)
            self._rows[inside] = (*self._rows.get(inside, ()), *batch.rows)

    def partition(self, server: int) -> tuple[int, ...]:
        """Return the partition of a server, none if it did not finish."""
        return self._place.get(server, ())

    def rows(self, owners: tuple[int, ...]) -> tuple[int, ...]:
        """Return the coded rows that exactly these finishers keep."""
        return self._rows.get(owners, ())

    def batch(self, owners: tuple[int, ...], rows: tuple[int, ...]) -> int:
        """Return the number of a batch."""
        return self.numbers.setdefault((owners, rows), len(self.numbers))


def _coded_level(blocks: _Blocks, j: int) -> Iterator[Packet]:
    """Yield the packets of one coded level; groups that share no member are side by side."""
    finishers = blocks.finishers
    if j >= len(finishers) or not blocks.rows(finishers[:j]):
        return
    for disjoint in disjoint_rounds(combinations(finishers, j + 1), finishers[-1] + 1):
        for at in range(j + 1):
            for S in disjoint:
                receivers = S[:at] + S[at + 1 :]
                yield Packet(S[at], receivers, tuple(_segment(blocks, S, k, S[at]) for k in receivers))


def _segment(blocks: _Blocks, S: tuple[int, ...], receiver: int, sender: int) -> Term:
    """Return the segment of V[receiver, S without receiver] that this sender encodes."""
    owners = tuple(server for server in S if server != receiver)
    number = blocks.batch(owners, blocks.rows(owners))
    return Term(blocks.partition(receiver), number, owners.index(sender), len(owners))


def _unicasts(blocks: _Blocks, level: int, rows: int) -> Iterator[Packet]:
    """Yield packets that bring each finisher this many rows of a level, spread over all who keep some."""
    sent = dict.fromkeys(blocks.finishers, 0)
    for receiver in blocks.finishers:
        others = tuple(server for server in blocks.finishers if server != receiver)
        groups = list(combinations(others, level))
        for at, owners in enumerate(groups):
            count = rows * (at + 1) // len(groups) - rows * at // len(groups)
            if count:
                sender = min(owners, key=lambda server: (sent[server], server))
                sent[sender] += count
                number = blocks.batch(owners, blocks.rows(owners)[:count])
                yield Packet(sender, (receiver,), (Term(blocks.partition(receiver), number),))
