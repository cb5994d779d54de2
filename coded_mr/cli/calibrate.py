"""`coded-mr calibrate`: measure what a job costs on these ranks."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from coded_mr.cli import Parser, world
from coded_mr.cli.options import add_scratch, check_scratch, write_json
from coded_mr.launch import JOB_ID

if TYPE_CHECKING:
    from mpi4py import MPI

    from coded_mr.engine.runner import Order

__all__ = ["main"]


class Calibrate(world.Command):
    """Measure and print a profile; nothing is written but the JSON asked for."""

    name = "calibrate"
    description = (
        "Measure the costs of map, multicast and reduce for a job on these ranks, from a sample of its "
        "input. `run` and `plan` take the profile that --json stores: --profile FILE."
    )

    def add_options(self, parser: Parser) -> None:
        """Add where the sample's parts go."""
        add_scratch(parser)

    def check(self, options: argparse.Namespace) -> None:
        """Refuse a directory that is not there."""
        check_scratch(options.scratch)

    def output(self, options: argparse.Namespace, job_id: str) -> str:
        """Return a name in the scratch directory; only its hidden sibling is ever made, for the sample."""
        return str(Path(options.scratch) / f"coded-mr-calibrate-{job_id}")

    def finished(self, options: argparse.Namespace, job_id: str) -> bool:
        """Tell whether rank 0 left its mark."""
        mark = _mark(job_id)
        there = mark.exists()
        mark.unlink(missing_ok=True)
        return there

    def run(self, world: MPI.Intracomm, order: Order, options: argparse.Namespace) -> None:
        """Measure; rank 0 says what it found."""
        from coded_mr.engine.runner import Session

        with Session(world, order) as session:
            profile = session.calibrate()
            session.synchronise()
        if world.rank:
            return
        if options.json is not None:
            write_json(options.json, profile.to_dict())
        if not options.quiet and options.json != "-":
            costs = profile.machines(order.request.partitions)[0].costs
            print(profile.summary())
            print(
                f"costs      --costs {float(costs.map):.6g},{float(costs.shuffle):.6g},"
                f"{float(costs.reduce):.6g} for {order.request.partitions} partitions"
            )
            sys.stdout.flush()
        if JOB_ID in os.environ:  # only who started MPI for us looks for it, and removes it
            _mark(order.job_id).touch()


def _mark(job_id: str) -> Path:
    """Return the file by which rank 0, on the host that started MPI, says that it is done."""
    return Path(tempfile.gettempdir()) / f"coded-mr-calibrated-{job_id}"


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    return world.main(Calibrate(), arguments)
