"""`coded-mr run`: run a job on files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from coded_mr.cli import Parser, world
from coded_mr.cli.options import write_json
from coded_mr.errors import OutputError
from coded_mr.io.output import read_success

if TYPE_CHECKING:
    from mpi4py import MPI

    from coded_mr.engine.runner import Order

__all__ = ["main"]


class Run(world.Command):
    """Run a job and leave its result in OUT."""

    name = "run"
    description = "Run a job on files: alone it starts MPI itself, under mpirun or srun it joins in."

    def add_options(self, parser: Parser) -> None:
        """Add where the result goes."""
        parser.add_argument(
            "-o", "--output", metavar="OUT", required=True, help="directory to make for the result"
        )
        parser.add_argument(
            "--overwrite", action="store_true", help="replace OUT if it holds an earlier result"
        )

    def output(self, options: argparse.Namespace, job_id: str) -> str:
        """Return OUT."""
        return str(options.output)

    def finished(self, options: argparse.Namespace, job_id: str) -> bool:
        """Tell whether OUT is this job's."""
        try:
            return read_success(options.output).get("job_id") == job_id
        except OutputError:
            return False

    def run(self, world: MPI.Intracomm, order: Order, options: argparse.Namespace) -> None:
        """Run the job; rank 0 says what came of it."""
        from coded_mr.engine.runner import run_order

        report = run_order(world, order)
        if report is None:
            return
        if options.json is not None:
            write_json(options.json, report.to_dict())
        if not options.quiet and options.json != "-":
            print(report.summary())
            sys.stdout.flush()


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    return world.main(Run(), arguments)
