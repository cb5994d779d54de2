"""What a rank keeps of what it mapped and received: the only place that holds intermediate values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from coded_mr.engine.packet import Value
from coded_mr.plan.model import Plan, Term

__all__ = ["Store", "uses"]

Key = tuple[int, int]  # (partition, batch)


def uses(plan: Plan, rank: int) -> Counter[Key]:
    """Count how often a rank needs each intermediate value V[q, batch] that it maps.

    Once for its own reduce, once for each packet it encodes, and once for each packet it decodes in which
    the value is side information. What is not counted need not be kept.
    """
    mapped = set(plan.batches_of[rank])
    needed: Counter[Key] = Counter((q, batch) for batch in mapped for q in plan.reduces[rank])
    for packet in plan.packets:
        if packet.sender == rank or rank in packet.receivers:
            needed.update((q, t.batch) for t in packet.terms if t.batch in mapped for q in t.partitions)
    return needed


@dataclass
class _Held:
    value: Value
    uses: int


class Store:
    """Hold intermediate values until their last use.

    `bytes` is what is held now, `peak_bytes` the most that was held at once; `waiting_bytes` is what is held
    for packets, beside what this rank will reduce.
    """

    def __init__(self, plan: Plan, rank: int) -> None:
        """Start empty, knowing from the plan what this rank will need."""
        self._batches = len(plan.batches)
        self._needed = uses(plan, rank)
        self._held: dict[Key, _Held] = {}
        self.bytes = 0
        self.peak_bytes = 0
        self.waiting_bytes = 0
        self._owned = frozenset(plan.reduces[rank])

    def __repr__(self) -> str:
        """Return how much is held."""
        return f"Store({len(self._held)} values, {self.bytes} bytes)"

    def put_mapped(self, batch: int, values: Sequence[Value]) -> None:
        """Keep what is needed of the values that mapping a batch yielded, one for each partition."""
        for q, value in enumerate(values):
            if count := self._needed[q, batch]:
                self._put((q, batch), value, count)

    def put_received(self, partition: int, batch: int, value: Value) -> None:
        """Keep a decoded value for the reduce."""
        self._put((partition, batch), value, 1)

    def values(self, term: Term) -> list[Value]:
        """Return the values that a term names, in the order of its partitions."""
        return [self._held[q, term.batch].value for q in term.partitions]

    def release(self, term: Term) -> None:
        """Count one use of a term's values; drop each after its last."""
        for q in term.partitions:
            self._release((q, term.batch))

    def take_partition(self, partition: int) -> list[Value]:
        """Return a partition's values in the order of the batches, and let go of them."""
        keys = [(partition, batch) for batch in range(self._batches)]
        values = [self._held[key].value for key in keys]
        for key in keys:
            self._release(key)
        return values

    def _put(self, key: Key, value: Value, count: int) -> None:
        self._held[key] = _Held(value, count)
        self.bytes += value.size
        self.peak_bytes = max(self.peak_bytes, self.bytes)
        if key[0] not in self._owned:
            self.waiting_bytes += value.size

    def _release(self, key: Key) -> None:
        held = self._held[key]
        held.uses -= 1
        if not held.uses:
            del self._held[key]
            self.bytes -= held.value.size
            if key[0] not in self._owned:
                self.waiting_bytes -= held.value.size
