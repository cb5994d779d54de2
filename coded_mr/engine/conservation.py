"""Nothing is lost and nothing is doubled: what every rank counted must add up across the ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from coded_mr.engine.timeline import Stage
from coded_mr.engine.traffic import Traffic
from coded_mr.errors import ConservationError
from coded_mr.io.output import PartFile
from coded_mr.plan.model import Plan

__all__ = ["PartitionCount", "RankCount", "check", "input_bytes", "intermediate_bytes"]


@dataclass
class PartitionCount:
    """Count the pairs (or records) and the bytes of intermediate values of one partition."""

    pairs: int = 0
    bytes: int = 0


@dataclass
class RankCount:
    """Hold everything that one rank counted.

    The first rank that a batch names as mapper speaks for the batch: `spoken_files`, `spoken_bytes_in`,
    `spoken_records` and `mapped` count those batches only, so that their sums count each file once. `copies`
    has size and CRC-32 of the partitions that this rank reduced too but another one wrote.
    """

    rank: int
    host: str
    files: int = 0
    bytes_in: int = 0
    records: int = 0
    spoken_files: int = 0
    spoken_bytes_in: int = 0
    spoken_records: int = 0
    mapped: dict[int, PartitionCount] = field(default_factory=dict)
    reduced: dict[int, PartitionCount] = field(default_factory=dict)
    groups_reduced: int = 0
    records_out: int = 0
    parts: dict[int, PartFile] = field(default_factory=dict)
    copies: dict[int, tuple[int, int]] = field(default_factory=dict)
    traffic: Traffic = field(default_factory=Traffic)
    stages: list[Stage] = field(default_factory=list)
    peak_bytes: int = 0


def check(plan: Plan, files: int, plain_bytes: int | None, ranks: Sequence[RankCount]) -> None:
    """Compare every stage's counts with the next one's, across all ranks.

    `files` is N; `plain_bytes` is the size of the input where it is known before reading (no compression).
    Raises ConservationError that lists each count which does not add up.
    """
    problems = list(_problems(plan, files, plain_bytes, ranks))
    if problems:
        raise ConservationError(
            "records or bytes were lost or doubled, so there is no output: " + "; ".join(problems[:5])
        )


def input_bytes(ranks: Sequence[RankCount]) -> int:
    """Return the bytes of input, each file once."""
    return sum(count.spoken_bytes_in for count in ranks)


def intermediate_bytes(ranks: Sequence[RankCount]) -> int:
    """Return QNT in bytes: all intermediate values of all partitions, each once."""
    return sum(part.bytes for count in ranks for part in count.mapped.values())


def _problems(plan: Plan, files: int, plain_bytes: int | None, ranks: Sequence[RankCount]) -> Iterator[str]:
    spoken = sum(count.spoken_files for count in ranks)
    if spoken != files:
        yield f"{files} files were in the input, {spoken} were mapped"
    if plain_bytes is not None and input_bytes(ranks) != plain_bytes:
        yield f"the input had {plain_bytes} bytes, {input_bytes(ranks)} were read (did a file change?)"
    for q in range(plan.partitions):
        yield from _partition_problems(q, len(plan.reducers_of[q]), ranks)
    for count in ranks:
        yield from _traffic_problems(plan, count)
    due = sum(count.traffic.due for count in ranks)
    received = sum(count.traffic.received for count in ranks)
    if due != received:
        yield f"{due} bytes were sent to receivers, {received} arrived"


def _partition_problems(q: int, reducers: int, ranks: Sequence[RankCount]) -> Iterator[str]:
    mapped = [count.mapped[q] for count in ranks if q in count.mapped]
    reduced = [count.reduced[q] for count in ranks if q in count.reduced]
    written = [count.parts[q] for count in ranks if q in count.parts]
    if len(reduced) != reducers or len(written) != 1:
        yield (
            f"partition {q} was reduced {len(reduced)} times and written {len(written)} times, "
            f"not {reducers} and 1"
        )
        return
    for part in reduced:
        for what, sent, got in (
            ("pairs", sum(part.pairs for part in mapped), part.pairs),
            ("bytes", sum(part.bytes for part in mapped), part.bytes),
        ):
            if sent != got:
                yield f"partition {q}: {sent} {what} were mapped, {got} were reduced"
    result = written[0].bytes, written[0].crc32
    for count in ranks:
        if count.copies.get(q, result) != result:
            yield f"partition {q}: rank {count.rank} got another result than the rank that wrote it"


def _traffic_problems(plan: Plan, count: RankCount) -> Iterator[str]:
    rank = count.rank
    owned = plan.reduces[rank] if rank < plan.ranks else ()
    sends = sum(packet.sender == rank for packet in plan.packets)
    receives = sum(rank in packet.receivers for packet in plan.packets)
    values = len(owned) * (len(plan.batches) - len(plan.batches_of[rank])) if owned else 0
    traffic = count.traffic
    for what, due, got in (
        ("packets were due from", sends, traffic.sent_packets),
        ("packets were due to", receives, traffic.received_packets),
        ("values were due to", values, traffic.decoded_values),
    ):
        if due != got:
            yield f"{due} {what} rank {rank}, {got} were counted"
