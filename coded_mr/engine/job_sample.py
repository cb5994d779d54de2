"""A sample of the job: how long map and reduce take, on one rank alone and on all at once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, count, takewhile
from math import inf, log
from statistics import median
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from coded_mr.engine.execution import Tools
from coded_mr.engine.memory import give_back
from coded_mr.engine.repeating import fastest
from coded_mr.engine.waiting import barrier, broadcast
from coded_mr.io.inputs import InputFile
from coded_mr.io.output import OutputDirectory

__all__ = ["JobSample", "budget_for", "sample_job"]

T = TypeVar("T")

_PIECES = 8
_LEAST_PIECE, _MOST_PIECE = 128 << 10, 4 << 20
_SHARE = 0.02  # of a job's estimated time, for each part of the measurement
_MOST_SLOWER = 0.25  # caches that overflow slow mapping down, but not for ever
_LEAST_BUDGET, _MOST_BUDGET = 0.03, 0.5  # seconds


@dataclass(frozen=True)
class JobSample:
    """Hold what a sample of the job showed.

    map_seconds     for a byte of input, on one rank alone, if there are as many batches as ranks
    map_growth      h: with b times as few batches it takes b^h times as long; 0 without combining
    value_bytes     of intermediate values for a byte of input, if there are as many batches as ranks
    value_growth    g: with b times as many batches there are b^g times as many of them; 0 without combining
    reduce_seconds  for a byte of intermediate values, on one rank alone, with writing
    part_seconds    to write an empty part durably
    padding         length of 1, 2, ... values combined over their mean length
    sample_bytes    of the input that were mapped to find out
    map_slots, reduce_slots  ranks that seem to work undisturbed when n do, by n
    """

    map_seconds: float
    map_growth: float
    value_bytes: float
    value_growth: float
    reduce_seconds: float
    part_seconds: float
    padding: tuple[float, ...]
    sample_bytes: int
    map_slots: Mapping[int, float] = field(default_factory=dict)
    reduce_slots: Mapping[int, float] = field(default_factory=dict)


@dataclass
class _Pieces:
    """Hold pieces of the input, and what mapping them took and gave."""

    files: list[tuple[InputFile, ...]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    values: list[list[bytes | memoryview]] = field(default_factory=list)
    read: int = 0

    @property
    def map_seconds(self) -> float:
        """Return the seconds for a byte of input."""
        return median(self.rates) if self.rates else 0.0

    def of(self, partition: int) -> list[bytes | memoryview]:
        """Return the intermediate values of a partition."""
        return [some[partition] for some in self.values]


def sample_job(
    world: MPI.Intracomm,
    tools: Tools,
    files: Sequence[InputFile],
    input_bytes: int,
    partitions: int,
    output: OutputDirectory,
    *,
    thorough: bool = False,
) -> JobSample:
    """Map and reduce a sample on rank 0, then on all ranks at once; collective.

    It takes a small part of the job; a thorough one takes as much as a long job would allow. `files` matter
    on rank 0. Parts are written where the job's will be, under hidden names that go again. The user's code
    may raise here as anywhere: UserCodeError. Raises OutputError, StorageError too.
    """

    def look() -> tuple[JobSample, list[tuple[InputFile, ...]], float]:
        output.prepare()
        pieces = _mapped(tools, files, input_bytes, thorough)
        sample = _sample(tools, pieces, input_bytes, partitions, world.size, output)
        budget = budget_for(inf if thorough else pieces.map_seconds * input_bytes)
        return sample, pieces.files[-_affordable(pieces.seconds, budget, world.size) :], budget

    try:
        sample, pieces, budget = broadcast(world, look if world.rank == 0 else None)
        maps, reduces = _slots(world, tools, pieces, partitions, output, budget)
    finally:
        if world.rank == 0:
            output.abandon()
    return replace(sample, map_slots=maps, reduce_slots=reduces)


def budget_for(job_seconds: float) -> float:
    """Return the seconds that a measurement may take for a job of that length on one rank."""
    return min(max(_SHARE * job_seconds, _LEAST_BUDGET), _MOST_BUDGET)


def _mapped(tools: Tools, files: Sequence[InputFile], input_bytes: int, thorough: bool) -> _Pieces:
    """Map pieces spread over the input until they agree or the budget is spent."""
    pieces = _Pieces()
    # Pieces of an input that is not tiny have nothing in common: they would combine as no batches do.
    most = min(max(-(-input_bytes // _PIECES), _LEAST_PIECE), _MOST_PIECE)
    size = _LEAST_PIECE
    give_back()
    for number in range(_PIECES):
        piece = _piece(files, number, size)
        if not piece:
            continue
        spent, mapped = _timed(tools, partial(tools.kernel.map_batch, piece))
        rates = pieces.rates
        pieces.files.append(piece)
        pieces.seconds.append(spent)
        rates.append(spent / max(mapped.bytes_in, 1))
        pieces.values.append(mapped.values)
        pieces.read += mapped.bytes_in
        budget = budget_for(inf if thorough else rates[-1] * input_bytes)
        if sum(pieces.seconds) > budget or (len(rates) >= 4 and max(rates[-3:]) < 1.1 * min(rates[-3:])):
            break
        # As large as the budget allows: what fits in the caches is quicker than a whole batch.
        size = int(min(max(budget / _PIECES / max(rates[-1], 1e-12), _LEAST_PIECE), most))
    return pieces


def _sample(
    tools: Tools, pieces: _Pieces, input_bytes: int, partitions: int, ranks: int, output: OutputDirectory
) -> JobSample:
    """Reduce what the pieces gave, and say what all of it shows."""
    sizes = np.array([sum(map(_size, pieces.of(q))) for q in range(partitions)], float)
    total = float(sizes.sum())
    growth = _growth(tools, pieces, total)
    many = input_bytes / max(pieces.read / max(len(pieces.files), 1), 1)  # batches as large as a piece
    part, reduced = _reduced(tools, pieces, partitions, output)
    return JobSample(
        map_seconds=pieces.map_seconds * (max(many, 1) / ranks) ** growth.map,
        map_growth=growth.map,
        value_bytes=total / max(pieces.read, 1) * (ranks / max(many, 1)) ** growth.values,
        value_growth=growth.values,
        # The parts of a small sample may be quicker to write than empty ones were.
        reduce_seconds=max(reduced - partitions * part, reduced / 10) / max(total, 1.0),
        part_seconds=part,
        padding=_padding(sizes, ranks),
        sample_bytes=pieces.read,
    )


class _Growth(NamedTuple):
    """Hold powers: of the number of batches, by which values grow; of their size, by which mapping slows."""

    values: float
    map: float


def _growth(tools: Tools, pieces: _Pieces, total: float) -> _Growth:
    """Map all pieces as one batch, to see what becomes of time and values."""
    count = len(pieces.files)
    if not tools.kernel.combines or count < 2:
        return _Growth(0.0, 0.0)
    together = [file for piece in pieces.files for file in piece]
    spent, mapped = _timed(tools, partial(tools.kernel.map_batch, together))
    joined = sum(map(_size, mapped.values))
    values = log(total / joined) / log(count) if joined else 0.0
    slower = log(spent / (pieces.map_seconds * pieces.read)) / log(count) if pieces.read else 0.0
    return _Growth(min(max(values, 0.0), 1.0), min(max(slower, 0.0), _MOST_SLOWER))


def _affordable(seconds: Sequence[float], budget: float, ranks: int) -> int:
    """Return how many of the last pieces all ranks may map at once; one, at least."""
    most = 1
    while most < len(seconds) and ranks * sum(seconds[-most - 1 :]) < budget:
        most += 1
    return most


def _reduced(tools: Tools, pieces: _Pieces, partitions: int, output: OutputDirectory) -> tuple[float, float]:
    """Return the seconds to write an empty part, and to reduce and write all partitions of the sample."""
    give_back()
    empty = min(_timed(tools, partial(output.write_part, 0, ()))[0] for _ in range(2))
    whole = sum(
        _timed(tools, partial(_reduce, tools, q, q, pieces.of(q), output))[0] for q in range(partitions)
    )
    return empty, whole


def _size(value: bytes | memoryview) -> int:
    return memoryview(value).nbytes


def _slots(
    world: MPI.Intracomm,
    tools: Tools,
    pieces: Sequence[Sequence[InputFile]],
    partitions: int,
    output: OutputDirectory,
    budget: float,
) -> tuple[dict[int, float], dict[int, float]]:
    """Return, by how many ranks work at once, how many times the work of one they do in its time.

    One and all are always measured, numbers between while the budget (seconds) lasts.
    """
    one = _trial(world, 1, tools, pieces, partitions, output, budget)
    processors = _processors(world)
    maps, reduces = {1: 1.0}, {1: 1.0}
    spent = 0.0
    for workers in _counts(world.size):
        if spent > budget:
            break
        found = _trial(world, workers, tools, pieces, partitions, output, budget)
        spent += found.spent
        # More than the processors can do is chance. Parts wait for disks, too.
        maps[workers] = max(min(workers * one.mapping / found.mapping, min(workers, processors)), 1.0)
        ratio = found.size / max(one.size, 1) * one.reducing / found.reducing
        reduces[workers] = max(min(ratio, workers), 1.0)
    return _rising(maps), _rising(reduces)


def _rising(slots: Mapping[int, float]) -> dict[int, float]:
    """Return the slots such that more ranks never do less: what disturbs a trial makes it slower."""
    counts = sorted(slots)
    return dict(zip(counts, accumulate((slots[count] for count in counts), max), strict=True))


def _counts(ranks: int) -> list[int]:
    """Return how many ranks work at once in the trials, in the order in which they matter."""
    if ranks == 1:
        return []
    return [ranks, *takewhile(lambda power: power < ranks, (2**exponent for exponent in count(1)))]


class _Trial(NamedTuple):
    """Hold the seconds of the slowest rank, the bytes of values reduced, and what all repetitions took."""

    mapping: float
    reducing: float
    size: int
    spent: float


def _trial(
    world: MPI.Intracomm,
    workers: int,
    tools: Tools,
    pieces: Sequence[Sequence[InputFile]],
    partitions: int,
    output: OutputDirectory,
    budget: float,
) -> _Trial:
    """Let the first ranks map the same pieces, then reduce a partition of them, while the others sleep."""
    works = world.rank < workers
    q = world.rank % partitions

    def map_pieces() -> list[bytes | memoryview]:
        return [tools.kernel.map_batch(piece).values[q] for piece in pieces]

    values: list[bytes | memoryview] = []
    spent = 0.0

    def seconds() -> npt.NDArray[np.float64]:
        nonlocal values, spent
        mapping = reducing = 0.0
        give_back()
        barrier(world)
        if works:
            mapping, values = _timed(tools, map_pieces)
        barrier(world)
        if works:
            reducing, _ = _timed(tools, partial(_reduce, tools, q, world.rank, values, output))
        slowest = np.array([mapping, reducing])
        world.Allreduce(MPI.IN_PLACE, slowest, MPI.MAX)
        spent += float(slowest.sum())
        return slowest.clip(1e-9)

    mapping, reducing = map(float, fastest(seconds, budget))
    return _Trial(mapping, reducing, world.allreduce(sum(map(_size, values))), spent)


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
