"""Measurement of a job's costs on the ranks at hand: a sample of the real input, the real transports."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence

from mpi4py import MPI

from coded_mr.engine.execution import Tools
from coded_mr.engine.hosts import hosts_of
from coded_mr.engine.job_sample import JobSample, budget_for, sample_job
from coded_mr.engine.network_probe import Probe, beaten
from coded_mr.engine.profile import Network, Profile
from coded_mr.engine.trial import Trials
from coded_mr.engine.waiting import broadcast
from coded_mr.io.inputs import InputFile
from coded_mr.io.output import OutputDirectory
from coded_mr.plan.candidate import Candidate

__all__ = ["calibrate"]

# It pays to look at another transport while that took less than this part of the shuffle, which may be saved,
# or so many seconds.
_LOOK_SHARE, _LEAST_LOOK = 0.3, 0.2


def calibrate(
    world: MPI.Intracomm,
    tools: Mapping[str, Tools],
    files: Sequence[InputFile],
    input_bytes: int,
    partitions: int,
    output: OutputDirectory,
    *,
    predict: Callable[[Profile], Candidate] | None = None,
) -> Profile:
    """Measure the costs of a job; collective.

    `tools` are those of each transport that may be used, those that may gain most first. `files` matter on
    rank 0, which maps the sample first. Hidden parts are written beside `output`, and removed again.
    `predict` tells rank 0 what would be done by what has been found so far: more transports than the first
    are looked at while they may gain more than that costs, and what is worth it is measured better within a
    small part of the job. Without it all are, as for a long job. Raises what `sample_job` raises, and what
    `predict` does, on rank 0.
    """
    started = time.perf_counter()
    any_tools = next(iter(tools.values()))
    thorough = predict is None
    sample = sample_job(world, any_tools, files, input_bytes, partitions, output, thorough=thorough)
    hosts = hosts_of(world)
    probes: dict[str, Probe] = {}

    def profile() -> Profile:
        networks = {name: probe.network() for name, probe in probes.items()}
        return _profile(sample, networks, input_bytes, hosts, time.perf_counter() - started)

    looking = time.perf_counter()

    def look_on() -> bool:
        looked = time.perf_counter() - looking
        return predict is None or looked < max(_LEAST_LOOK, _LOOK_SHARE * predict(profile()).t_shuffle)

    for name, these in tools.items():
        if probes and not broadcast(world, look_on):
            break
        probes[name] = Probe(Trials(world, these.carrier, these.limits, hosts, these.link), partitions)
        probes[name].look()
    slow = beaten({name: probe.network() for name, probe in probes.items()})
    worth = [probe for name, probe in probes.items() if name not in slow]
    budget = broadcast(world, lambda: _budget(predict and predict(profile())) / len(worth))
    for probe in worth:
        probe.refine(budget)
    return broadcast(world, profile)


def _budget(chosen: Candidate | None) -> float:
    """Return the seconds for better measurements of the network."""
    return budget_for(math.inf if chosen is None else float(chosen.total))


def _profile(
    sample: JobSample,
    networks: Mapping[str, Network],
    input_bytes: int,
    hosts: tuple[int, ...],
    seconds: float,
) -> Profile:
    return Profile(
        input_bytes=input_bytes,
        map_seconds=sample.map_seconds,
        map_growth=sample.map_growth,
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
        seconds=seconds,
    )
