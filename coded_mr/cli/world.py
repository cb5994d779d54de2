"""What `run`, `calibrate` and `compare` share: they start MPI, or join the ranks that a launcher started."""

from __future__ import annotations

import argparse
import gc
import logging
import os
import shutil
import sys
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from coded_mr.cli import Parser
from coded_mr.cli.jobs import COMMANDS_INSTEAD, read_options
from coded_mr.cli.options import add_planning, add_topology, check_json, check_topology, costs_of, request_of
from coded_mr.engine.progress_board import TERMINAL
from coded_mr.errors import UsageError
from coded_mr.io.inputs import discover
from coded_mr.io.output import OutputDirectory, check_output
from coded_mr.job import Job, RecordJob
from coded_mr.jobfile import build_job
from coded_mr.launch import JOB_ID, announced, check_world, launch, rank_settings
from coded_mr.plan.planner import wanted_ranks

if TYPE_CHECKING:
    from mpi4py import MPI

    from coded_mr.engine.runner import Order

__all__ = ["Command", "main", "read"]


# Containers that may be made, beyond those that went again, before the collector looks for cycles.
_COLLECT_AT = 100_000


class Command:
    """Describe a command that runs a job on a world; subclasses say what is particular."""

    name: str
    description: str

    def add_options(self, parser: Parser) -> None:
        """Add the command's own options."""
        raise NotImplementedError

    def check(self, options: argparse.Namespace) -> None:
        """Raise UsageError for options that cannot be, before MPI starts."""

    def output(self, options: argparse.Namespace, job_id: str) -> str:
        """Return where the command writes, or would write parts that it throws away."""
        raise NotImplementedError

    def finished(self, options: argparse.Namespace, job_id: str) -> bool:
        """Tell, in the process that started MPI, whether the ranks left their mark."""
        raise NotImplementedError

    def run(self, world: MPI.Intracomm, order: Order, options: argparse.Namespace) -> None:
        """Do the work; collective."""
        raise NotImplementedError


def main(command: Command, arguments: Sequence[str]) -> int:
    """Run a command and return its exit status."""
    options, job = read(command, arguments)
    check_json(options.json)
    check_topology(options.topology)
    command.check(options)
    if announced(os.environ) is None:
        return _start(command, options, arguments)
    return _join(command, options, job)


def _parser(command: Command, *, whole: bool) -> Parser:
    """Return the parser; not `whole`, it only finds the job among the words."""
    parser = Parser(
        prog=f"coded-mr {command.name}",
        description=f"{command.description} {COMMANDS_INSTEAD}",
        epilog=f"A job's own parameters are options too, after JOB: "
        f"`coded-mr {command.name} JOB --help` lists them.",
        add_help=whole,
        allow_abbrev=False,
    )
    parser.add_argument(
        "job", metavar="JOB", help="a file with a job class: file.py, file.py:Class, or a module"
    )
    parser.add_argument(
        "inputs",
        nargs="+" if whole else "*",
        metavar="INPUT",
        help="files, directories (with all below) and glob patterns; plain, .gz, .bz2 or .xz",
    )
    parser.add_argument(
        "--json", metavar="FILE", help="write what was found to FILE, or to standard output: -"
    )
    talk = parser.add_mutually_exclusive_group()
    talk.add_argument("-v", "--verbose", action="store_true", help="say what happens, on standard error")
    talk.add_argument("-q", "--quiet", action="store_true", help="print nothing unless something is wrong")
    add_planning(parser)
    parser.add_argument(
        "--link-rate",
        type=float,
        metavar="BYTES",
        help="emulate one shared link of so many bytes a second among ranks on one host, for experiments",
    )
    parser.add_argument(
        "--transport",
        choices=("auto", "groups", "unicast", "ip", "relay"),
        default="auto",
        help="how packets travel: a broadcast for each set of receivers, a copy to each, IP multicast, which "
        "falls back to groups, or from receiver to receiver; auto: what is measured to be fastest "
        "(default: %(default)s; groups with --costs)",
    )
    parser.add_argument(
        "--one-sender",
        action="store_true",
        help="let one rank send at a time, as published measurements of coded shuffles do, for experiments",
    )
    parser.add_argument(
        "--interface", metavar="NAME", help="the network interface for IP multicast, or its IPv4 address"
    )
    add_topology(parser)
    command.add_options(parser)
    if not whole:
        for action in parser._actions:
            action.required = action.required and action.dest == "job"
    return parser


def read(command: Command, arguments: Sequence[str]) -> tuple[argparse.Namespace, Job | RecordJob]:
    """Parse the options, those of the job among them."""
    options, cls = read_options(lambda whole: _parser(command, whole=whole), arguments)
    if options.link_rate is not None and not options.link_rate > 0:
        raise UsageError(f"--link-rate must be a number of bytes above 0, not {options.link_rate}")
    if options.profile is not None and options.costs is not None:
        raise UsageError("--profile and --costs both say what things cost: give one of them")
    return options, build_job(cls, options)


def _start(command: Command, options: argparse.Namespace, arguments: Sequence[str]) -> int:
    """Check what can be checked without MPI, then run the same command under mpirun."""
    job_id = uuid.uuid4().hex[:16]
    output = command.output(options, job_id)
    costs_of(options)
    check_output(output, getattr(options, "overwrite", False), options.inputs)
    discover(options.inputs)
    ranks = options.ranks if options.ranks is not None else _ranks(options)
    request_of(options, partitions=ranks, ranks=ranks)
    if sys.stderr.isatty():
        os.environ[TERMINAL] = str(shutil.get_terminal_size().columns)
    try:
        status = launch(
            ranks,
            [command.name, *arguments],
            job_id=job_id,
            finished=lambda: command.finished(options, job_id),
        )
    finally:
        OutputDirectory(output, job_id, overwrite=True).abandon()
    if status:
        print(
            f"coded-mr: {command.name} failed with status {status}; {output} was not written", file=sys.stderr
        )
    return status


def _ranks(options: argparse.Namespace) -> int:
    """Return how many ranks to start when -n does not say."""
    cpus = len(os.sched_getaffinity(0))
    wanted = wanted_ranks(request_of(options, partitions=cpus, ranks=None), costs_of(options))
    return wanted if wanted is not None else options.partitions or cpus


def _join(command: Command, options: argparse.Namespace, job: Job | RecordJob) -> int:
    """Take part as one rank of the world that a launcher started."""
    # Intermediate values are millions of objects without cycles, which the default would visit for nothing.
    gc.set_threshold(_COLLECT_AT)
    os.environ.update(rank_settings(os.environ))
    from mpi4py import MPI

    from coded_mr.engine.failing import abort

    world = MPI.COMM_WORLD
    check_world(announced(os.environ), world.size)
    try:
        logging.basicConfig(
            level=logging.INFO if options.verbose and world.rank == 0 else logging.WARNING,
            format="coded-mr: %(message)s",
        )
        command.run(world, _order(command, options, job, world), options)
    except BaseException as error:  # whatever it is, the other ranks must not wait for this one
        abort(world, error)
    return 0


def _order(
    command: Command, options: argparse.Namespace, job: Job | RecordJob, world: MPI.Intracomm
) -> Order:
    from coded_mr.engine.profile import Profile
    from coded_mr.engine.runner import Order
    from coded_mr.engine.shuffle import Limits
    from coded_mr.engine.waiting import broadcast

    if options.ranks is not None and options.ranks != world.size:
        raise UsageError(f"-n {options.ranks} under a launcher that started {world.size} ranks: leave -n out")
    make_id: Callable[[], str] = lambda: os.environ.get(JOB_ID) or uuid.uuid4().hex[:16]  # noqa: E731
    job_id = broadcast(world, make_id)
    return Order(
        job=job,
        job_name=f"{options.job} ({type(job).__name__})",
        inputs=tuple(options.inputs),
        output=command.output(options, job_id),
        request=request_of(options, partitions=world.size, ranks=world.size),
        job_id=job_id,
        costs=costs_of(options),
        profile=None if options.profile is None else Profile.load(options.profile),
        overwrite=getattr(options, "overwrite", False),
        limits=Limits(one_sender=options.one_sender),
        link_rate=options.link_rate,
        transport=options.transport,
        interface=options.interface,
        topology=options.topology,
        progress=not options.quiet,
    )
