"""`coded-mr linear matmul`: Y = A X over GF(2^8) or GF(2^16), waiting for the first q servers only.

What --json writes is described in `coded_mr.linear.report`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from coded_mr.cli import Parser
from coded_mr.cli.linear_values import delay, fraction, whole
from coded_mr.cli.linear_world import load_array, run, save_array
from coded_mr.cli.options import write_json
from coded_mr.errors import UsageError
from coded_mr.launch import announced
from coded_mr.theory.straggling import Setting

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options = _parser().parse_args(list(arguments))
    if options.ranks is not None:
        _check(options, options.ranks)
    if announced(os.environ) is None:
        if options.ranks is None:
            raise UsageError("how many servers? give -n K, or start the ranks with mpirun")
        for path in (options.matrix, options.vectors):
            load_array(path, mapped=True)
    # Without -n a launcher has said how many.
    return run("matmul", arguments, options, options.ranks or 2, lambda world: _work(world, options))


def _parser() -> Parser:
    parser = Parser(
        prog="coded-mr linear matmul",
        description="Multiply a matrix by vectors over a finite field, exactly. The matrix is stored coded; "
        "the first servers that finish are enough. Slow and stopped servers hold nothing up, except rank 0; "
        "a server that dies ends the job.",
    )
    parser.add_argument("matrix", metavar="A.npy", help="matrix of whole numbers 0..2^T - 1")
    parser.add_argument("vectors", metavar="X.npy", help="vector, or matrix with one vector a column")
    parser.add_argument("-o", "--output", required=True, metavar="Y.npy", help="file for the product")
    parser.add_argument("-n", "--ranks", type=whole(1), metavar="K", help="servers (MPI ranks)")
    parser.add_argument(
        "--mu",
        type=fraction,
        default=Fraction(1, 2),
        metavar="MU",
        help="fraction of the matrix that a server stores (default: 1/2)",
    )
    parser.add_argument(
        "-q",
        "--finishers",
        type=whole(1),
        metavar="Q",
        help="servers to wait for: more send less (default: the fewest, 1/MU)",
    )
    parser.add_argument(
        "--bits", type=int, choices=(8, 16), help="T of the field GF(2^T) (default: as wide as A's numbers)"
    )
    parser.add_argument(
        "--slow",
        type=delay,
        action="append",
        default=[],
        metavar="RANK:SECONDS",
        help="let a server begin late, to try stragglers out; may be repeated",
    )
    parser.add_argument(
        "--patience",
        type=fraction,
        metavar="S",
        help="seconds to wait at the end for servers that do not answer (default: 10)",
    )
    parser.add_argument("--json", metavar="FILE", help="write a report to FILE, or to standard output: -")
    parser.add_argument("--quiet", action="store_true", help="print nothing unless something is wrong")
    return parser


def _check(options: argparse.Namespace, servers: int) -> None:
    """Raise UsageError for servers that cannot be."""
    if servers < 2:
        raise UsageError(f"{servers} server: coding needs 2 servers or more")
    setting = Setting(servers, options.mu, 1)
    setting.point(setting.fewest if options.finishers is None else options.finishers)
    for rank, _ in options.slow:
        if rank >= servers:
            raise UsageError(f"--slow {rank}: there is no such rank, {servers} servers are 0..{servers - 1}")


def _work(world: MPI.Intracomm, options: argparse.Namespace) -> None:
    """Be one server."""
    from coded_mr.linear.exact_product import PATIENCE, FieldMatrix, end_without

    _check(options, world.size)
    A = X = None
    if world.rank == 0:
        A, X = load_array(options.matrix), load_array(options.vectors)
    matrix = FieldMatrix(A, storage=options.mu, finishers=options.finishers, bits=options.bits, comm=world)
    product = matrix.multiply(X, slow=dict(options.slow).get(world.rank, 0.0))
    if product is not None and product.report is not None:
        save_array(options.output, product.Y)
        if options.json is not None:
            write_json(options.json, product.report.to_dict())
        if not options.quiet and options.json != "-":
            print(f"result    {options.output}: {' x '.join(map(str, product.Y.shape))}")
            print(product.report.summary())
    absent = matrix.close(PATIENCE if options.patience is None else float(options.patience))
    if absent and world.rank == 0:
        print(f"coded-mr: ranks {list(absent)} do not answer; they are ended", file=sys.stderr)
    end_without(absent)
