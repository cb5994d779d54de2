"""A sample of the job: how long map and reduce take, on one rank alone and on all at once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from coded_mr.engine.execution import Tools
from coded_mr.engine.memory import give_back
from coded_mr.engine.waiting import barrier, broadcast
from coded_mr.io.inputs import InputFile
from coded_mr.io.output import OutputDirectory

__all__ = ["JobSample", "budget_for", "sample_job"]

T = TypeVar("T")

_PIECES = 8
_LEAST_PIECE, _MOST_PIECE = 128 << 10, 4 << 20
_TRIALS = 2
_SHARE = 0.02  # of a job's estimated time, for each part of the measurement
_LEAST_BUDGET, _MOST_BUDGET = 0.03, 0.5  # seconds


@dataclass(frozen=True)
class JobSample:
    """Hold what a sample of the job showed.

    map_seconds     for a byte of input, on one rank alone
    value_bytes     of intermediate values for a byte of input
    reduce_seconds  for a byte of intermediate values, on one rank alone, with writing
    part_seconds    to write an empty part durably
    map_slots, reduce_slots  ranks that seem to work undisturbed when all do; at most all
    padding         length of 1, 2, ... values combined over their mean length
    sample_bytes    of the input that were mapped to find out
    """

    map_seconds: float
    value_bytes: float
    reduce_seconds: float
    part_seconds: float
    map_slots: float
    reduce_slots: float
    padding: tuple[float, ...]
    sample_bytes: int


@dataclass(frozen=True)
class _Alone:
    """What rank 0 found with the others asleep; `pieces` are those that all should map at once."""

    map_seconds: float
    value_bytes: float
    reduce_seconds: float
    part_seconds: float
    padding: tuple[float, ...]
    sample_bytes: int
    pieces: tuple[tuple[InputFile, ...], ...]
    pieces_seconds: float


def sample_job(
    world: MPI.Intracomm,
    tools: Tools,
    files: Sequence[InputFile],
    input_bytes: int,
    partitions: int,
    output: OutputDirectory,
) -> JobSample:
    """Map and reduce a sample on rank 0, then on all ranks at once; collective.

    `files` matter on rank 0. Parts are written where the job's will be, under hidden names that go again.
    The user's code may raise here as anywhere: UserCodeError. Raises OutputError, StorageError too.
    """

    def look() -> _Alone:
        output.prepare()
        return _alone(tools, files, input_bytes, partitions, world.size, output)

    try:
        alone = broadcast(world, look if world.rank == 0 else None)
        map_slots, reduce_slots = _together(world, tools, alone, partitions, output)
        barrier(world)
    finally:
        if world.rank == 0:
            output.abandon()
    return JobSample(
        map_seconds=alone.map_seconds,
        value_bytes=alone.value_bytes,
        reduce_seconds=alone.reduce_seconds,
        part_seconds=alone.part_seconds,
        map_slots=map_slots,
        reduce_slots=reduce_slots,
        padding=alone.padding,
        sample_bytes=alone.sample_bytes,
    )


def budget_for(job_seconds: float) -> float:
    """Return the seconds that a measurement may take for a job of that length on one rank."""
    return min(max(_SHARE * job_seconds, _LEAST_BUDGET), _MOST_BUDGET)


def _alone(
    tools: Tools,
    files: Sequence[InputFile],
    input_bytes: int,
    partitions: int,
    ranks: int,
    output: OutputDirectory,
) -> _Alone:
    """Map pieces spread over the input until they agree or the budget is spent; reduce what they gave."""
    pieces: list[tuple[InputFile, ...]] = []
    seconds: list[float] = []
    rates: list[float] = []
    values: list[list[bytes | memoryview]] = []
    size, read = _LEAST_PIECE, 0
    give_back()
    for number in range(_PIECES):
        piece = _piece(files, number, size)
        if not piece:
            continue
        spent, mapped = _timed(tools, partial(tools.kernel.map_batch, piece))
        pieces.append(piece)
        seconds.append(spent)
        rates.append(spent / max(mapped.bytes_in, 1))
        values.append(mapped.values)
        read += mapped.bytes_in
        budget = budget_for(rates[-1] * input_bytes)
        if sum(seconds) > budget or (len(rates) >= 4 and max(rates[-3:]) < 1.1 * min(rates[-3:])):
            break
        # As large as the budget allows: what fits in the caches is quicker than a whole batch.
        size = int(min(max(budget / _PIECES / max(rates[-1], 1e-12), _LEAST_PIECE), _MOST_PIECE))
    sizes = np.array([sum(memoryview(some[q]).nbytes for some in values) for q in range(partitions)], float)
    part, reduced = _reduced(tools, values, partitions, output)
    total = float(sizes.sum())
    most = _affordable(seconds, budget_for(median(rates) * input_bytes if rates else 0.0), ranks)
    return _Alone(
        map_seconds=median(rates) if rates else 0.0,
        value_bytes=total / max(read, 1),
        # The parts of a small sample may be quicker to write than empty ones were.
        reduce_seconds=max(reduced - partitions * part, reduced / 10) / max(total, 1.0),
        part_seconds=part,
        padding=_padding(sizes, ranks),
        sample_bytes=read,
        pieces=tuple(pieces[-most:]),
        pieces_seconds=sum(seconds[-most:]),
    )


def _affordable(seconds: Sequence[float], budget: float, ranks: int) -> int:
    """Return how many of the last pieces all ranks may map at once; one, at least."""
    most = 1
    while most < len(seconds) and ranks * sum(seconds[-most - 1 :]) < budget:
        most += 1
    return most


def _reduced(
    tools: Tools, values: Sequence[Sequence[bytes | memoryview]], partitions: int, output: OutputDirectory
) -> tuple[float, float]:
    """Return the seconds to write an empty part, and to reduce and write all partitions of the sample."""
    give_back()
    empty = min(_timed(tools, partial(output.write_part, 0, ()))[0] for _ in range(2))
    whole = sum(
        _timed(tools, partial(_reduce, tools, q, q, [some[q] for some in values], output))[0]
        for q in range(partitions)
    )
    return empty, whole


def _together(
    world: MPI.Intracomm, tools: Tools, alone: _Alone, partitions: int, output: OutputDirectory
) -> tuple[float, float]:
    """Let all ranks map the same pieces, then reduce a partition of them; return the slots of both."""
    if world.size == 1:
        return 1.0, 1.0
    q = world.rank % partitions

    def map_pieces() -> list[bytes | memoryview]:
        return [tools.kernel.map_batch(piece).values[q] for piece in alone.pieces]

    def reduce(values: Sequence[bytes | memoryview]) -> int:
        _reduce(tools, q, world.rank, values, output)
        return sum(memoryview(value).nbytes for value in values)

    fastest = np.full(2, np.inf)
    # The first time, modules are loaded and caches filled, as rank 0 has done before.
    for _ in range(_TRIALS):
        give_back()
        barrier(world)
        mapped, values = _timed(tools, map_pieces)
        barrier(world)
        reduced, size = _timed(tools, partial(reduce, values))
        slowest = np.array([mapped, reduced])
        world.Allreduce(MPI.IN_PLACE, slowest, MPI.MAX)
        fastest = np.minimum(fastest, slowest)
    work = np.array([alone.pieces_seconds, alone.part_seconds + size * alone.reduce_seconds])
    world.Allreduce(MPI.IN_PLACE, work, MPI.SUM)
    slots = np.clip(work / np.maximum(fastest, 1e-9), 1.0, world.size)
    # The sample is in memory by now: more than the processors can do is chance. Only parts wait for disks.
    return min(float(slots[0]), _processors(world)), float(slots[1])


def _processors(world: MPI.Intracomm) -> float:
    """Return how many ranks the hosts' processors can serve at once; collective."""
    host = world.Split_type(MPI.COMM_TYPE_SHARED)
    # Together: a launcher may have bound each rank to a processor of its own.
    processors = set().union(*host.allgather(os.sched_getaffinity(0)))
    mine = min(len(processors), host.size) / host.size
    host.Free()
    total: float = world.allreduce(mine)
    return max(total, 1.0)


def _reduce(
    tools: Tools, partition: int, part: int, values: Sequence[bytes | memoryview], output: OutputDirectory
) -> None:
    output.write_part(part, tools.kernel.reduce_partition(partition, values).blocks)


def _timed(tools: Tools, call: Callable[[], T]) -> tuple[float, T]:
    """Run a call in the worker and return its seconds there, without the way to and fro."""

    def run() -> tuple[float, T]:
        started = time.perf_counter()
        result = call()
        return time.perf_counter() - started, result

    return tools.worker.run(run)


def _piece(files: Sequence[InputFile], number: int, size: int) -> tuple[InputFile, ...]:
    """Return one of the pieces spread over the input: small files together, or a cut of a large one.

    Compressed files are not cut, and taken only where there are no others.
    """
    plain = [file for file in files if file.compression is None and file.length] or list(files)
    start, stop = (n * len(plain) // _PIECES for n in (number, number + 1))
    if not plain or (start == stop and plain[start].compression is not None):
        return ()
    return tuple(_filling(plain[start : max(stop, start + 1)], number, size))


def _filling(files: Sequence[InputFile], number: int, room: int) -> Iterator[InputFile]:
    for file in files:
        if room <= 0:
            return
        cut = _cut(file, room, number)
        room -= cut.length
        yield cut


def _cut(file: InputFile, room: int, number: int) -> InputFile:
    """Return a file, or as much of a large one as there is room for; `number` says where in it."""
    unit = file.record_bytes or 1
    length = max(room // unit, 1) * unit
    if file.compression is not None or file.length <= length:
        return file
    offset = file.offset + (file.length - length) // unit * number // _PIECES * unit
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
