"""Measurement of a job's costs on the ranks at hand: a sample of the real input, the real transport."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from statistics import median
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from coded_mr.engine.execution import Tools
from coded_mr.engine.packet import Value
from coded_mr.engine.profile import Profile
from coded_mr.engine.shuffle import Shuffle
from coded_mr.engine.store import Store
from coded_mr.engine.waiting import barrier, broadcast
from coded_mr.io.inputs import InputFile
from coded_mr.plan.model import Batch, Packet, Plan, Term

__all__ = ["calibrate"]

T = TypeVar("T")

_SAMPLE_PIECES = 8
_PIECE_BYTES = 128 << 10
_SHARE = 0.02  # of a job's estimated time, for the sample of the job and again for the network
_LEAST_BUDGET, _MOST_BUDGET = 0.02, 0.5  # seconds
_SMALL, _LARGE, _LARGEST = 1 << 10, 64 << 10, 4 << 20


@dataclass(frozen=True)
class _JobSample:
    """What a sample of the job showed, for a byte of input or of values."""

    map_seconds: float
    value_bytes: float
    reduce_seconds: float
    padding: tuple[float, ...]
    sample_bytes: int


def calibrate(
    world: MPI.Intracomm, tools: Tools, files: Sequence[InputFile], input_bytes: int, partitions: int
) -> Profile:
    """Measure the costs of a job; collective. `files` matter on rank 0, which maps the sample.

    The user's code may raise here as anywhere: UserCodeError.
    """
    started = time.perf_counter()

    def sample() -> _JobSample:
        return _job(tools, files, input_bytes, partitions, world.size)

    job = broadcast(world, sample if world.rank == 0 else None)
    budget = _budget(job.map_seconds * input_bytes)
    multicast, packet, group = _network(world, tools, partitions, budget)
    return Profile(
        input_bytes=input_bytes,
        map_seconds=job.map_seconds,
        value_bytes=job.value_bytes,
        reduce_seconds=job.reduce_seconds,
        multicast=multicast,
        packet_seconds=packet,
        group_seconds=group,
        padding=job.padding,
        slots=_slots(world),
        ranks=world.size,
        sample_bytes=job.sample_bytes,
        seconds=broadcast(world, (lambda: time.perf_counter() - started) if world.rank == 0 else None),
    )


def _budget(job_seconds: float) -> float:
    """Return the seconds that a measurement may take for a job of that length on one rank."""
    return min(max(_SHARE * job_seconds, _LEAST_BUDGET), _MOST_BUDGET)


def _job(
    tools: Tools, files: Sequence[InputFile], input_bytes: int, partitions: int, ranks: int
) -> _JobSample:
    """Map pieces spread over the input, one after the other until they agree or the budget is spent."""
    rates: list[float] = []
    sizes = np.zeros(partitions)
    values, read, spent = [], 0, 0.0
    for piece in _sample(files):
        seconds, mapped = _timed(tools, partial(tools.kernel.map_batch, piece))
        spent += seconds
        read += mapped.bytes_in
        rates.append(seconds / max(mapped.bytes_in, 1))
        sizes += [memoryview(value).nbytes for value in mapped.values]
        values.append(mapped.values)
        if spent > _budget(rates[-1] * input_bytes) or (
            len(rates) >= 4 and max(rates[-3:]) < 1.1 * min(rates[-3:])
        ):
            break
    reduced = sum(
        _timed(tools, partial(_reduce, tools, q, [some[q] for some in values]))[0] for q in range(partitions)
    )
    total = float(sizes.sum())
    return _JobSample(
        map_seconds=median(rates) if rates else 0.0,
        value_bytes=total / max(read, 1),
        reduce_seconds=reduced / max(total, 1.0),
        padding=_padding(sizes, ranks),
        sample_bytes=read,
    )


def _reduce(tools: Tools, partition: int, values: Sequence[bytes | memoryview]) -> None:
    for _ in tools.kernel.reduce_partition(partition, values).blocks:
        pass


def _timed(tools: Tools, call: Callable[[], T]) -> tuple[float, T]:
    """Run a call in the worker and return its seconds there, without the way to and fro."""

    def run() -> tuple[float, T]:
        started = time.perf_counter()
        result = call()
        return time.perf_counter() - started, result

    return tools.worker.run(run)


def _sample(files: Sequence[InputFile]) -> Iterator[list[InputFile]]:
    """Yield some pieces spread over the whole input, each small files together or a cut of a large one.

    Compressed files are not cut.
    """
    plain = [file for file in files if file.compression is None and file.length] or list(files)
    starts = [number * len(plain) // _SAMPLE_PIECES for number in range(_SAMPLE_PIECES)]
    for number, (start, stop) in enumerate(zip(starts, [*starts[1:], len(plain)], strict=True)):
        if start == stop and plain[start].compression is not None:
            continue
        piece: list[InputFile] = []
        for file in plain[start : max(stop, start + 1)]:
            room = _PIECE_BYTES - sum(other.length for other in piece)
            if room <= 0:
                break
            piece.append(_cut(file, room, number))
        yield piece


def _cut(file: InputFile, room: int, number: int) -> InputFile:
    """Return a file, or as much of a large one as there is room for; `number` says where in it."""
    unit = file.record_bytes or 1
    length = max(room // unit, 1) * unit
    if file.compression is not None or file.length <= length:
        return file
    offset = file.offset + (file.length - length) // unit * number // _SAMPLE_PIECES * unit
    return replace(file, offset=offset, length=length, weight=length)


def _padding(sizes: npt.NDArray[np.float64], members: int) -> tuple[float, ...]:
    """Return the expected longest of 1, 2, ... values over their mean, if they are drawn from these sizes."""
    count, mean = len(sizes), float(sizes.mean()) if sizes.size else 0.0
    if not mean:
        return ()
    ascending = np.sort(sizes) / mean
    steps = np.arange(1, count + 1) / count
    below = np.arange(count) / count
    return tuple(float(ascending @ (steps**m - below**m)) for m in range(1, members + 1))


def _slots(world: MPI.Intracomm) -> int | None:
    """Return how many ranks the hosts' processors can serve at once; None when that is all of them."""
    host = world.Split_type(MPI.COMM_TYPE_SHARED)
    # Together: a launcher may have bound each rank to a processor of its own.
    processors = set().union(*host.allgather(os.sched_getaffinity(0)))
    mine = min(len(processors), host.size) / host.size
    host.Free()
    total: float = world.allreduce(mine)
    slots = max(round(total), 1)
    return None if slots >= world.size else slots


def _network(
    world: MPI.Intracomm, tools: Tools, partitions: int, budget: float
) -> tuple[dict[int, float], float, float]:
    """Measure multicasts to 1, 2, ... receivers on the real transport, with all ranks sending.

    Returns seconds a byte by receivers, seconds a packet, seconds a group. More receivers are measured while
    the budget lasts, each with packets as large as its part of the budget allows.
    """
    per_byte: dict[int, float] = {}
    packet_seconds = group_seconds = spent = 0.0
    counts = _receiver_counts(min(world.size - 1, partitions))
    for receivers in counts:
        small = _exchange(world, tools, receivers, _SMALL)
        size = _LARGE
        large = _exchange(world, tools, receivers, size)
        while size < _LARGEST and 4 * large.seconds < budget / len(counts):
            size *= 4
            large = _exchange(world, tools, receivers, size)
        # What disturbs a probe makes it slower, never faster: the better of two counts.
        seconds = min(large.seconds, _exchange(world, tools, receivers, size).seconds)
        per_byte[receivers] = seconds / (large.packets * size)
        packet_seconds = max(packet_seconds, small.seconds / small.packets - _SMALL * per_byte[receivers])
        if small.groups:
            group_seconds = max(group_seconds, small.group_seconds / small.groups)
        spent += small.seconds + 2 * large.seconds
        if spent > budget:
            break
    return per_byte, packet_seconds, group_seconds


def _receiver_counts(most: int) -> list[int]:
    """Return 1, the most, and numbers between, in the order in which they matter."""
    between = [j for j in (3, 2, 4, 6, 8, 12, 16, 24, 32) if j < most]
    return list(dict.fromkeys([1, most, *between])) if most else []


@dataclass(frozen=True)
class _Exchange:
    """What a probe took: seconds of the slowest rank."""

    seconds: float
    group_seconds: float
    packets: int
    groups: int


def _exchange(world: MPI.Intracomm, tools: Tools, receivers: int, size: int) -> _Exchange:
    """Let every rank send packets of one value to the ranks after it, as in a shuffle."""
    K = world.size
    packets = tuple(
        Packet(
            sender, tuple(sorted((sender + d) % K for d in range(1, receivers + 1))), (Term((0,), sender),)
        )
        for sender in range(K)
    )
    plan = Plan("probe", 1, ((0,),) * K, tuple(Batch((rank,), Fraction(1, K)) for rank in range(K)), packets)
    store = Store(plan, world.rank)
    store.put_mapped(world.rank, [Value.of(bytes(size))])
    shuffle = Shuffle(world, plan, store, limits=tools.limits, link=tools.link, carrier=tools.carrier)
    barrier(world)
    started = time.perf_counter()
    traffic = shuffle.run()
    barrier(world)
    whole = time.perf_counter() - started
    slowest = np.array([whole, traffic.group_seconds])
    world.Allreduce(MPI.IN_PLACE, slowest, MPI.MAX)
    seconds, groups = map(float, slowest)
    return _Exchange(seconds - groups, groups, len(packets), len(plan.groups))
