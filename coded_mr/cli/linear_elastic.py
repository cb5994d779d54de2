"""`coded-mr linear elastic`: X w, column by column, while machines come and go."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from statistics import mean
from typing import TYPE_CHECKING, Any

from coded_mr.cli import Parser
from coded_mr.cli.linear_world import add_common, check_arrays, load_array, run, save_array, waiting
from coded_mr.cli.options import write_json
from coded_mr.launch import announced
from coded_mr.linear.arrays import check_real
from coded_mr.linear.traces import Trace, random_trace, read_trace, watch

if TYPE_CHECKING:
    from mpi4py import MPI

    from coded_mr.linear.elastic_run import ElasticMatrix, Step
    from coded_mr.linear.elastic_steps import ElasticSettings

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options = _parser().parse_args(list(arguments))
    if announced(os.environ) is None:
        check_arrays(options.matrix, options.operand, check_real)
    _settings(options, 1)
    ranks = options.blocks + options.margin + 2
    return run("elastic", arguments, options, ranks, lambda world: _multiply(world, options))


def _parser() -> Parser:
    parser = Parser(
        prog="coded-mr linear elastic",
        description="Multiply a matrix that machines hold in coded blocks with each column of W, one a step: "
        "those that are available share the rows anew at each step. Machine n is rank n, rank 0 the master.",
    )
    parser.add_argument("matrix", metavar="X", help=".npy file, (p, q): float32, float64 or whole numbers")
    parser.add_argument("operand", metavar="W", help=".npy file, (q,) or (q, m)")
    add_common(parser)
    parser.add_argument(
        "-L",
        "--blocks",
        type=int,
        default=2,
        help="machines that are enough; each stores 1/L of X (default 2)",
    )
    parser.add_argument("--margin", type=int, default=0, metavar="S", help="machines that may fail to answer")
    parser.add_argument(
        "--policy",
        choices=("heterogeneous", "cyclic", "uncoded"),
        default="heterogeneous",
        help="who does what",
    )
    who = parser.add_mutually_exclusive_group()
    who.add_argument("--trace", metavar="FILE", help="a line a step: the machines that are available")
    who.add_argument(
        "--watch", metavar="FILE", help="read again at every step: its last line says who is available"
    )
    who.add_argument(
        "--away", type=float, metavar="P", help="each machine is away with this chance at each step"
    )
    parser.add_argument(
        "--signals",
        action="store_true",
        help="a machine leaves after its step when its rank gets SIGUSR1, and is back after SIGUSR2",
    )
    parser.add_argument(
        "--on-infeasible",
        choices=("raise", "skip"),
        default="raise",
        help="with too few machines (default: raise)",
    )
    return parser


def _trace(options: argparse.Namespace, machines: int) -> Trace | None:
    """Return the trace that the options name."""
    if options.trace is not None:
        return read_trace(options.trace)
    if options.watch is not None:
        return watch(options.watch)
    return None if options.away is None else random_trace(machines, options.away, options.seed)


def _settings(options: argparse.Namespace, machines: int) -> ElasticSettings:
    """Return the settings, checked."""
    from coded_mr.linear.elastic_steps import ElasticSettings

    return ElasticSettings(
        options.blocks,
        margin=options.margin,
        policy=options.policy,
        trace=_trace(options, machines),
        signals=options.signals,
        on_infeasible=options.on_infeasible,
        seed=options.seed,
    )


def _multiply(world: MPI.Intracomm, options: argparse.Namespace) -> None:
    """Load, multiply, write; rank 0 says what came of it."""
    from coded_mr.linear.elastic_run import ElasticMatrix

    X = None if world.rank else load_array(options.matrix)
    matrix = ElasticMatrix(X, _settings(options, world.size - 1), comm=world, **waiting(options))
    matrix.lead(lambda matrix: _steps(matrix, options))
    matrix.end()


def _steps(matrix: ElasticMatrix, options: argparse.Namespace) -> None:
    """Be rank 0."""
    if options.signals and not options.quiet:
        print(_processes(matrix), file=sys.stderr, flush=True)
    y, found = matrix.all_steps(load_array(options.operand))
    save_array(options.output, y)
    document = _document(matrix, found, options)
    if options.json is not None:
        write_json(options.json, document)
    if not options.quiet and options.json != "-":
        print(_summary(options, y, document))


def _processes(matrix: ElasticMatrix) -> str:
    """Return whom to signal."""
    machines = "; ".join(f"machine {machine}: {matrix.process(machine)}" for machine in matrix.machines)
    return f"{machines}; SIGUSR1: leaves after its step, SIGUSR2: is back"


def _document(matrix: ElasticMatrix, found: Sequence[Step], options: argparse.Namespace) -> dict[str, Any]:
    """Return what --json writes; speeds are in blocks a second."""
    return {
        "format": "coded-mr-elastic/1",
        "L": options.blocks,
        "margin": options.margin,
        "policy": options.policy,
        "machines": len(matrix.machines),
        "skipped": matrix.skipped,
        "dead": sorted(matrix.lost),
        "seconds": mean(step.seconds for step in found),
        "bound": max(step.bound for step in found),
        "speeds": {str(machine): float(speed) for machine, speed in matrix.speeds.items()},
        "steps": [
            {
                "available": list(step.available),
                "answered": list(step.answered),
                "rows": {
                    str(machine): sum(map(len, step.work.ranges(machine))) for machine in step.available
                },
                "seconds": step.seconds,
                "bound": step.bound,
            }
            for step in found
        ],
    }


def _summary(options: argparse.Namespace, y: Any, document: dict[str, Any]) -> str:
    speeds = ", ".join(f"{machine}: {speed:.3g}" for machine, speed in sorted(document["speeds"].items()))
    return "\n".join(
        [
            f"result    {options.output} ({' x '.join(map(str, y.shape))}, {y.dtype})",
            f"storage   1/{document['L']} of the matrix, once, on each of {document['machines']} machines",
            f"steps     {len(document['steps'])} made, {document['skipped']} skipped; "
            f"{document['seconds']:.4f} s each",
            f"speeds    {speeds or 'not measured'} (blocks a second)",
            f"accuracy  every entry within {document['bound']:.1e}",
        ]
    )
