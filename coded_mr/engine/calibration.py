"""A quick measurement of c_m, c_s and c_r: a sample of the real job, and the real network."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
from mpi4py import MPI

from coded_mr.engine.waiting import wait
from coded_mr.engine.worker import Worker
from coded_mr.io.inputs import InputFile
from coded_mr.kernels import Kernel
from coded_mr.theory.costs import Costs

__all__ = ["Calibration", "bytes_per_second", "measure_job"]

_SAMPLE_FILES = 4
_SAMPLE_BYTES = 256 << 10
_PROBE_BYTES = 1 << 20
_PROBES = 3

# A cost of zero has no optimum: what is too quick to measure counts as a nanosecond.
_LEAST = Fraction(1, 10**9)


@dataclass(frozen=True)
class Calibration:
    """Hold what a sample of the job showed, per byte of input, and how long it took.

    `map_seconds` and `value_bytes` are per byte of input, `reduce_seconds` per byte of intermediate values.
    """

    map_seconds: float
    value_bytes: float
    reduce_seconds: float
    sample_bytes: int
    seconds: float

    def costs(self, input_bytes: int, partitions: int, network: float) -> Costs:
        """Return (c_m, c_s, c_r) for an input of that size over a network of so many bytes a second."""
        values = self.value_bytes * input_bytes
        return Costs(
            _cost(self.map_seconds * input_bytes),
            _cost(values / network),
            _cost(self.reduce_seconds * values / partitions),
        )


def measure_job(worker: Worker, kernel: Kernel, files: Sequence[InputFile], partitions: int) -> Calibration:
    """Map and reduce a few small pieces of the input, spread over it, on this rank.

    The user's code may raise here as anywhere: UserCodeError.
    """
    started = time.perf_counter()
    sample = _sample(files)
    mapped = worker.run(lambda: kernel.map_batch(sample))
    map_time = time.perf_counter() - started
    values = sum(len(memoryview(value)) for value in mapped.values)
    began = time.perf_counter()
    for q in range(partitions):
        worker.run(partial(_reduce, kernel, q, mapped.values[q]))
    now = time.perf_counter()
    return Calibration(
        map_seconds=map_time / max(mapped.bytes_in, 1),
        value_bytes=values / max(mapped.bytes_in, 1),
        reduce_seconds=(now - began) / max(values, 1),
        sample_bytes=mapped.bytes_in,
        seconds=now - started,
    )


def bytes_per_second(comm: MPI.Comm) -> float:
    """Measure the rate of a broadcast among all ranks, as each of them sees it; collective.

    One rank alone sends nothing: infinity.
    """
    if comm.size == 1:
        return float("inf")
    buffer = np.zeros(_PROBE_BYTES, dtype=np.uint8)
    fastest = float("inf")
    for _ in range(_PROBES):
        wait([comm.Ibarrier()])
        started = time.perf_counter()
        wait([comm.Ibcast(buffer, comm.size - 1)])
        wait([comm.Ibarrier()])
        fastest = min(fastest, time.perf_counter() - started)
    return _PROBE_BYTES / fastest


def _reduce(kernel: Kernel, partition: int, value: bytes | memoryview) -> None:
    for _ in kernel.reduce_partition(partition, [value]).blocks:
        pass


def _sample(files: Sequence[InputFile]) -> list[InputFile]:
    """Choose a few small files over the whole input, and cut long ones where they may be cut."""
    plain = [file for file in files if file.compression is None and file.length] or list(files)
    step = max(len(plain) // _SAMPLE_FILES, 1)
    return [_cut(file) for file in plain[::step][:_SAMPLE_FILES]]


def _cut(file: InputFile) -> InputFile:
    if file.compression is not None or file.length <= _SAMPLE_BYTES:
        return file
    unit = file.record_bytes or 1
    length = _SAMPLE_BYTES // unit * unit
    return replace(file, length=length, weight=length)


def _cost(seconds: float) -> Fraction:
    return max(Fraction(seconds).limit_denominator(10**9), _LEAST)
