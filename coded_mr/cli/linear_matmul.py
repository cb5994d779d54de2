"""`coded-mr linear matmul`: Y = A X over GF(2^8) or GF(2^16), waiting for the first q servers only.

What --json writes is described in `coded_mr.linear.report`; with --share, in `coded_mr.linear.sharing`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from coded_mr.cli import Parser
from coded_mr.cli.linear_values import delay, fraction, one_or_two, whole
from coded_mr.cli.linear_world import add_waiting, check_arrays, load_array, run, save_array, waiting
from coded_mr.cli.options import write_json
from coded_mr.errors import UsageError
from coded_mr.launch import announced
from coded_mr.theory.straggling import Setting

if TYPE_CHECKING:
    import numpy as np
    from mpi4py import MPI

    from coded_mr.linear.exact_product import FieldMatrix, FieldProduct
    from coded_mr.linear.sharing import SharedMatrix, SharedProduct

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options = _parser().parse_args(list(arguments))
    if options.ranks is not None:
        _check(options, options.ranks)
    if announced(os.environ) is None:
        if options.ranks is None:
            raise UsageError("how many servers? give -n K, or start the ranks with mpirun")
        check_arrays(options.matrix, options.vectors, _check_whole)
    # Without -n a launcher has said how many.
    return run("matmul", arguments, options, options.ranks or 2, lambda world: _work(world, options))


def _parser() -> Parser:
    parser = Parser(
        prog="coded-mr linear matmul",
        description="Multiply a matrix by vectors over a finite field, exactly. The matrix is stored coded; "
        "the first servers that finish are enough. Slow, stopped and (on Open MPI 5) killed servers hold "
        "nothing up, except rank 0.",
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
        type=one_or_two,
        metavar="Q",
        help="servers to wait for: more send less (default: the fewest, 1/MU). Two numbers, such as 2,4: by "
        "memory sharing, a --share of the rows for the first",
    )
    parser.add_argument(
        "--share",
        type=fraction,
        metavar="THETA",
        help="with -q FEW,MANY: fraction of the rows that waits for FEW (`tradeoff --latency` finds it)",
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
    add_waiting(parser)
    parser.add_argument("--json", metavar="FILE", help="write a report to FILE, or to standard output: -")
    parser.add_argument("--quiet", action="store_true", help="print nothing unless something is wrong")
    return parser


def _check(options: argparse.Namespace, servers: int) -> None:
    """Raise UsageError for servers that cannot be."""
    if servers < 2:
        raise UsageError(f"{servers} server: coding needs 2 servers or more")
    setting = Setting(servers, options.mu, 1)
    finishers = options.finishers or (setting.fewest,)
    for q in finishers:
        setting.point(q)
    if (len(finishers) == 2) != (options.share is not None):
        raise UsageError(
            "--share says which part of the rows waits for the first of two -q: give both, or neither"
        )
    for rank, _ in options.slow:
        if rank >= servers:
            raise UsageError(f"--slow {rank}: there is no such rank, {servers} servers are 0..{servers - 1}")


def _check_whole(dtype: np.dtype[Any], path: str) -> None:
    if dtype.kind not in "ui":
        raise UsageError(f"{path} has the type {dtype}: elements of a field are whole numbers")


def _work(world: MPI.Intracomm, options: argparse.Namespace) -> None:
    """Be one server."""
    _check(options, world.size)
    A = X = None
    if world.rank == 0:
        A, X = load_array(options.matrix), load_array(options.vectors)
    matrix = _stored(world, options, A)
    product = matrix.multiply(X, slow=dict(options.slow).get(world.rank, 0.0))
    if product is not None and world.rank == 0:
        _show(options, product)
    matrix.close()
    matrix.end()


def _stored(world: MPI.Intracomm, options: argparse.Namespace, A: object) -> FieldMatrix | SharedMatrix:
    """Store the matrix as the options say."""
    from coded_mr.linear.exact_product import FieldMatrix
    from coded_mr.linear.sharing import SharedMatrix

    waits = waiting(options)
    if options.share is None:
        q = None if options.finishers is None else options.finishers[0]
        return FieldMatrix(A, storage=options.mu, finishers=q, bits=options.bits, comm=world, **waits)
    fast, slow = options.finishers
    return SharedMatrix(
        A,
        storage=options.mu,
        fast=fast,
        slow=slow,
        theta=options.share,
        bits=options.bits,
        comm=world,
        **waits,
    )


def _show(options: argparse.Namespace, product: FieldProduct | SharedProduct) -> None:
    """Write the product, and say what came of it."""
    save_array(options.output, product.Y)
    report = product.report
    assert report is not None
    if options.json is not None:
        write_json(options.json, report.to_dict())
    if not options.quiet and options.json != "-":
        print(f"result    {options.output}: {' x '.join(map(str, product.Y.shape))}")
        print(report.summary())
