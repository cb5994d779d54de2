"""`coded-mr sbatch`: print a batch script that runs a job under Slurm, sized by the planner."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from coded_mr.cli import Parser, world
from coded_mr.cli.options import costs_of, request_of
from coded_mr.cli.run import Run
from coded_mr.errors import LaunchError, UsageError
from coded_mr.launch import find_mpirun
from coded_mr.plan.planner import wanted_ranks
from coded_mr.slurm import Batch, build_script
from coded_mr.theory.costs import Costs

__all__ = ["main"]

# srun's plugins speak one MPI each.
_PLUGINS = {"openmpi": "pmix", "mpich": "pmi2"}


class Sbatch(Run):
    """Take the options of `run`, and those of Slurm beside them."""

    name = "sbatch"
    description = (
        "Print a batch script that runs a job under Slurm: `coded-mr sbatch JOB INPUT... -o OUT | sbatch`. "
        "It asks for the ranks that the plan wants: -n, else K* for --costs or --profile and -p, else what "
        "-r and -p need. All other options go to `coded-mr run`."
    )

    def add_options(self, parser: Parser) -> None:
        """Add the options of `run` and of Slurm."""
        super().add_options(parser)
        _add_slurm(parser)


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options, _ = world.read(Sbatch(), arguments)
    print(build_script(_batch(options, _words_of_run(arguments))), end="")
    return 0


def _add_slurm(parser: Parser) -> None:
    group = parser.add_argument_group("Slurm")
    group.add_argument(
        "--launcher", choices=("mpirun", "srun"), default="mpirun", help="what starts the ranks (mpirun)"
    )
    group.add_argument("--mpi", metavar="PLUGIN", help="of srun: pmix for Open MPI, pmi2 for MPICH")
    group.add_argument("--time", default="01:00:00", metavar="LIMIT", help="time limit (01:00:00)")
    group.add_argument("--nodes", type=int, metavar="N", help="spread the ranks over N nodes")
    group.add_argument("--partition", metavar="NAME", help="partition of the cluster")
    group.add_argument("--account", metavar="NAME", help="account to charge")
    group.add_argument("--job-name", metavar="NAME", help="name in the queue (that of the job's file)")
    group.add_argument("--python", default=sys.executable, metavar="PYTHON", help="on the nodes (this one)")


def _words_of_run(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return what is left for `coded-mr run`, when Slurm's options, -n and -o are gone."""
    parser = Parser(prog="coded-mr sbatch", add_help=False, allow_abbrev=False)
    Run().add_options(parser)
    parser.add_argument("-n", "--ranks")
    _add_slurm(parser)
    kept, words = parser.parse_known_args(list(arguments))
    return (*words, "--overwrite") if kept.overwrite else tuple(words)


def _batch(options: argparse.Namespace, words: tuple[str, ...]) -> Batch:
    if options.mpi is not None and options.launcher != "srun":
        raise UsageError("--mpi chooses srun's plugin: add --launcher srun, or leave --mpi out")
    name = options.job_name
    if name is None:
        name = re.sub(r"[^A-Za-z0-9_.-]+", "-", _name(options.job.partition(":")[0])) or "coded-mr"
    return Batch(
        run=words,
        output=options.output,
        python=options.python,
        ranks=_ranks(options),
        launcher=options.launcher,
        mpi=options.mpi or _plugin(options),
        name=name,
        time=options.time,
        nodes=options.nodes,
        partition=options.partition,
        account=options.account,
    )


def _name(where: str) -> str:
    """Return the last name of a job's file or module."""
    return Path(where).stem if where.endswith(".py") else where.rpartition(".")[2]


def _ranks(options: argparse.Namespace) -> int:
    """Return how many ranks to ask for.  Raises UsageError when nothing tells."""
    costs = _costs(options)
    if options.ranks is not None:
        request_of(options, partitions=options.ranks, ranks=options.ranks)
        return int(options.ranks)
    if options.partitions is None:
        raise UsageError("how many ranks? Give -n RANKS, or -p Q with --costs, --profile or -r")
    wanted = wanted_ranks(request_of(options, partitions=options.partitions, ranks=None), costs)
    return int(options.partitions) if wanted is None else wanted


def _costs(options: argparse.Namespace) -> Costs | None:
    if options.profile is None or options.partitions is None:
        return costs_of(options)
    from coded_mr.engine.profile import Profile

    return Profile.load(options.profile).machines(options.partitions)[0].costs


def _plugin(options: argparse.Namespace) -> str:
    """Return the plugin for the MPI of this Python, as far as its launcher tells."""
    if options.launcher != "srun":
        return "pmix"
    try:
        return _PLUGINS.get(find_mpirun(os.environ).flavour, "pmix")
    except LaunchError:
        return "pmix"
