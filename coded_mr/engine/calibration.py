"""Measurement of a job's costs on the ranks at hand: a sample of the real input, the real transports."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from mpi4py import MPI

from coded_mr.engine.execution import Tools
from coded_mr.engine.hosts import hosts_of
from coded_mr.engine.job_sample import budget_for, sample_job
from coded_mr.engine.network_probe import probe_network
from coded_mr.engine.profile import Profile
from coded_mr.engine.trial import Trials
from coded_mr.engine.waiting import broadcast
from coded_mr.io.inputs import InputFile
from coded_mr.io.output import OutputDirectory

__all__ = ["calibrate"]


def calibrate(
    world: MPI.Intracomm,
    tools: Mapping[str, Tools],
    files: Sequence[InputFile],
    input_bytes: int,
    partitions: int,
    output: OutputDirectory,
) -> Profile:
    """Measure the costs of a job; collective.

    `tools` are those of each transport that may be used. `files` matter on rank 0, which maps the sample
    first. Hidden parts are written beside `output`, and removed again. Raises what `sample_job` raises.
    """
    started = time.perf_counter()
    any_tools = next(iter(tools.values()))
    sample = sample_job(world, any_tools, files, input_bytes, partitions, output)
    hosts = hosts_of(world)
    budget = budget_for(sample.map_seconds * input_bytes) / len(tools)
    networks = {
        name: probe_network(Trials(world, these.carrier, these.limits, hosts, these.link), partitions, budget)
        for name, these in tools.items()
    }
    return Profile(
        input_bytes=input_bytes,
        map_seconds=sample.map_seconds,
        value_bytes=sample.value_bytes,
        value_growth=sample.value_growth,
        reduce_seconds=sample.reduce_seconds,
        part_seconds=sample.part_seconds,
        networks=networks,
        padding=sample.padding,
        map_slots=sample.map_slots,
        reduce_slots=sample.reduce_slots,
        hosts=hosts,
        sample_bytes=sample.sample_bytes,
        seconds=broadcast(world, (lambda: time.perf_counter() - started) if world.rank == 0 else None),
    )
