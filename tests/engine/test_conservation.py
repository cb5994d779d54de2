"""The counts of all ranks must add up: each test makes one of them wrong."""

from __future__ import annotations

import pytest

from coded_mr.engine.conservation import PartitionCount, RankCount, check, intermediate_bytes
from coded_mr.engine.traffic import Traffic
from coded_mr.errors import ConservationError
from coded_mr.io.output import PartFile
from coded_mr.plan.schemes import solver_helper

PLAN = solver_helper(3, 3, 2, 2)


@pytest.fixture
def ranks() -> list[RankCount]:
    """Six files of 10 bytes, each with one pair of 4 bytes for each partition; packets of 4 + 27 bytes."""
    counts = []
    for rank in range(6):  # the last is a spare
        count = RankCount(rank, "host")
        spoken = [b.mappers[0] == rank for b in PLAN.batches].count(True)
        count.spoken_files, count.spoken_bytes_in = spoken, 10 * spoken
        count.mapped = {q: PartitionCount(spoken, 4 * spoken) for q in range(3)} if spoken else {}
        if rank < 3:
            count.reduced = {rank: PartitionCount(6, 24)}
            count.parts = {rank: PartFile(f"part-0000{rank}", 5, 0)}
            count.traffic = Traffic(received_packets=2, received=62, decoded_values=2)
        elif rank < 5:
            count.traffic = Traffic(sent_packets=1, due=93)
        counts.append(count)
    return counts


def test_counts_that_add_up_pass(ranks):
    check(PLAN, 6, 60, ranks)
    check(PLAN, 6, None, ranks)
    assert intermediate_bytes(ranks) == 72


def spoil_files(ranks):
    ranks[0].spoken_files -= 1


def spoil_bytes_in(ranks):
    ranks[1].spoken_bytes_in += 1


def spoil_pairs(ranks):
    ranks[0].reduced[0].pairs += 1


def spoil_bytes(ranks):
    ranks[2].reduced[2].bytes -= 1


def spoil_reduced_twice(ranks):
    ranks[1].reduced[0] = PartitionCount()


def spoil_not_written(ranks):
    del ranks[1].parts[1]


def spoil_copy(ranks):
    ranks[4].copies[1] = (5, 1)


def spoil_sent_packets(ranks):
    ranks[3].traffic.sent_packets += 1


def spoil_received_packets(ranks):
    ranks[0].traffic.received_packets -= 1


def spoil_values(ranks):
    ranks[0].traffic.decoded_values -= 1


def spoil_received_bytes(ranks):
    ranks[0].traffic.received -= 1


def spoil_spare(ranks):
    ranks[5].traffic.sent_packets = 1


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (spoil_files, "6 files were in the input, 5 were mapped"),
        (spoil_bytes_in, "60 bytes, 61 were read"),
        (spoil_pairs, "partition 0: 6 pairs were mapped, 7 were reduced"),
        (spoil_bytes, "partition 2: 24 bytes were mapped, 23 were reduced"),
        (spoil_reduced_twice, "partition 0 was reduced 2 times and written 1 times, not 1 and 1"),
        (spoil_not_written, "partition 1 was reduced 1 times and written 0 times"),
        (spoil_copy, "partition 1: rank 4 got another result"),
        (spoil_sent_packets, "due from rank 3"),
        (spoil_received_packets, "2 packets were due to rank 0, 1 were counted"),
        (spoil_values, "values were due to rank 0"),
        (spoil_received_bytes, "186 bytes were sent to receivers, 185 arrived"),
        (spoil_spare, "0 packets were due from rank 5, 1 were counted"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_wrong_count_fails_the_run(ranks, spoil, message):
    spoil(ranks)
    with pytest.raises(ConservationError, match=message):
        check(PLAN, 6, 60, ranks)
