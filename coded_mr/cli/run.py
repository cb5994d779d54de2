"""`coded-mr run`: start MPI, or join the ranks that a launcher started, and run a job on them."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import uuid
from collections.abc import Sequence

from coded_mr.cli import Parser
from coded_mr.cli.options import add_planning, check_json, costs_of, request_of, write_json
from coded_mr.errors import OutputError, UsageError
from coded_mr.io.inputs import discover
from coded_mr.io.output import OutputDirectory, check_output, read_success
from coded_mr.job import Job, RecordJob
from coded_mr.jobfile import add_parameters, build_job, load_job
from coded_mr.launch import JOB_ID, announced, check_world, launch, rank_settings
from coded_mr.plan.planner import wanted_ranks

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options, job = _read(arguments)
    check_json(options.json)
    if announced(os.environ) is None:
        return _start(options, arguments)
    return _join(options, job)


def _parser(*, add_help: bool) -> Parser:
    parser = Parser(
        prog="coded-mr run",
        description="Run a job on files: alone it starts MPI itself, under mpirun or srun it joins in.",
        epilog="A job's own parameters are options too, after JOB: `coded-mr run JOB --help` lists them.",
        add_help=add_help,
        allow_abbrev=False,
    )
    parser.add_argument(
        "job", metavar="JOB", help="a Python file with a job class: file.py, file.py:Class, or a module"
    )
    parser.add_argument(
        "inputs",
        nargs="*" if not add_help else "+",
        metavar="INPUT",
        help="files, directories (with all below) and glob patterns; plain, .gz, .bz2 or .xz",
    )
    parser.add_argument(
        "-o", "--output", metavar="OUT", required=add_help, help="directory to make for the result"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace OUT if it holds an earlier result")
    parser.add_argument(
        "--json", metavar="FILE", help="write the run's report to FILE, or to standard output: -"
    )
    talk = parser.add_mutually_exclusive_group()
    talk.add_argument("-v", "--verbose", action="store_true", help="say what happens, on standard error")
    talk.add_argument("-q", "--quiet", action="store_true", help="print nothing unless something is wrong")
    add_planning(parser)
    return parser


def _read(arguments: Sequence[str]) -> tuple[argparse.Namespace, Job | RecordJob]:
    """Parse the options, those of the job among them: the job must be known first."""
    parser = _parser(add_help=True)
    words = list(arguments)
    if not words or words[0] in ("-h", "--help"):
        parser.parse_args(words)
    first, _ = _parser(add_help=False).parse_known_args(words)
    if not first.job.startswith("-"):
        cls = load_job(first.job)
        add_parameters(parser, cls)
    options = parser.parse_intermixed_args(words)
    return options, build_job(cls, options)


def _start(options: argparse.Namespace, arguments: Sequence[str]) -> int:
    """Check what can be checked without MPI, then run the same command under mpirun."""
    _check(options)
    ranks = options.ranks if options.ranks is not None else _ranks(options)
    request_of(options, partitions=ranks, ranks=ranks)
    job_id = uuid.uuid4().hex[:16]

    def finished() -> bool:
        try:
            return read_success(options.output).get("job_id") == job_id
        except OutputError:
            return False

    words = ["run", *arguments]
    try:
        status = launch(ranks, words, job_id=job_id, finished=finished)
    finally:
        OutputDirectory(options.output, job_id, overwrite=options.overwrite).abandon()
    if status:
        print(
            f"coded-mr: the run failed with status {status}; {options.output} was not written",
            file=sys.stderr,
        )
    return status


def _ranks(options: argparse.Namespace) -> int:
    """Return how many ranks to start when -n does not say."""
    cpus = len(os.sched_getaffinity(0))
    wanted = wanted_ranks(request_of(options, partitions=cpus, ranks=None), costs_of(options))
    return wanted if wanted is not None else options.partitions or cpus


def _check(options: argparse.Namespace) -> None:
    """Find bad input before work starts; raises UsageError."""
    costs_of(options)
    check_output(options.output, options.overwrite, options.inputs)
    discover(options.inputs)


def _join(options: argparse.Namespace, job: Job | RecordJob) -> int:
    """Run the job as one rank of the world that a launcher started."""
    world_announced = announced(os.environ)
    assert world_announced is not None
    os.environ.update(rank_settings(os.environ))
    from mpi4py import MPI

    from coded_mr.engine.failing import abort

    world = MPI.COMM_WORLD
    check_world(world_announced, world.size)
    try:
        _run(options, job, world.rank)
    except BaseException as error:  # whatever it is, the other ranks must not wait for this one
        abort(world, error)
    return 0


def _run(options: argparse.Namespace, job: Job | RecordJob, rank: int) -> None:
    from mpi4py import MPI

    from coded_mr.engine.runner import Order, run_order
    from coded_mr.engine.waiting import broadcast

    world = MPI.COMM_WORLD
    if options.ranks is not None and options.ranks != world.size:
        raise UsageError(f"-n {options.ranks} under a launcher that started {world.size} ranks: leave -n out")
    logging.basicConfig(
        level=logging.INFO if options.verbose and rank == 0 else logging.WARNING,
        format="coded-mr: %(message)s",
    )
    order = Order(
        job=job,
        job_name=f"{options.job} ({type(job).__name__})",
        inputs=tuple(options.inputs),
        output=options.output,
        request=request_of(options, partitions=world.size, ranks=world.size),
        job_id=os.environ.get(JOB_ID) or broadcast(world, lambda: uuid.uuid4().hex[:16]),
        costs=costs_of(options),
        overwrite=options.overwrite,
    )
    report = run_order(world, order)
    if report is None:
        return
    if options.json is not None:
        write_json(options.json, report.to_dict())
    if not options.quiet and options.json != "-":
        print(report.summary())
        sys.stdout.flush()
