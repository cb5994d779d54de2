"""`coded-mr linear matvec`: A x from the workers that answer first."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from statistics import mean
from typing import TYPE_CHECKING, Any

from coded_mr.cli import Parser
from coded_mr.cli.linear_world import add_common, check_arrays, columns, load_array, run, save_array, waiting
from coded_mr.cli.options import write_json
from coded_mr.errors import UsageError
from coded_mr.launch import announced
from coded_mr.linear.allocation_rules import parse_rule
from coded_mr.linear.arrays import check_real
from coded_mr.linear.delays import Delays
from coded_mr.theory.load_allocation import Group

if TYPE_CHECKING:
    from mpi4py import MPI

    from coded_mr.linear.real_product import CodedMatrix, Product

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options = _parser().parse_args(list(arguments))
    groups = _groups(options.groups)
    if options.delay is not None and not groups:
        raise UsageError("--delay slows workers as their --groups say: give them too")
    rule = None if options.rule is None else parse_rule(options.rule, groups)
    delay = None if options.delay is None else Delays(groups, options.delay, options.seed)
    if announced(os.environ) is None:
        check_arrays(options.matrix, options.operand, check_real)
    ranks = 1 + (sum(group.N for group in groups) or max(2, len(os.sched_getaffinity(0))))

    def work(world: MPI.Intracomm) -> None:
        _multiply(world, options, groups, rule=rule, height=options.height, seed=options.seed, delay=delay)

    return run("matvec", arguments, options, ranks, work)


def _parser() -> Parser:
    parser = Parser(
        prog="coded-mr linear matvec",
        description="Multiply a matrix that workers hold in coded rows; rank 0 decodes the first answers.",
    )
    parser.add_argument("matrix", metavar="A", help=".npy file, (p, q): float32, float64 or whole numbers")
    parser.add_argument("operand", metavar="X", help=".npy file, (q,) or (q, m)")
    add_common(parser)
    parser.add_argument(
        "--rule",
        help="rows of each worker: optimal, best, uncoded, uniform:RATE, replication:COPIES or "
        "tolerant:LOST (default: tolerant:1)",
    )
    parser.add_argument(
        "--groups",
        metavar="N:MU:ALPHA,...",
        help="groups of like workers: how many, straggling rate, shift; needed for optimal and best",
    )
    parser.add_argument(
        "--height", type=int, help="rows that are coded together (default: as many as make 256 pieces)"
    )
    parser.add_argument(
        "--each", action="store_true", help="one product for each column of X, not one for all"
    )
    parser.add_argument(
        "--delay",
        type=float,
        metavar="S",
        help="slow workers down by S times their random runtimes: an experiment",
    )
    return parser


def _groups(text: str | None) -> tuple[Group, ...]:
    """Return the groups of an option N:MU:ALPHA,..."""
    if text is None:
        return ()
    groups = []
    for part in text.split(","):
        try:
            N, mu, alpha = part.split(":")
            groups.append(Group(int(N), float(mu), float(alpha)))
        except ValueError:
            raise UsageError(f"--groups has {part!r}: write N:MU:ALPHA, such as 3:1.0:0.5") from None
    return tuple(groups)


def _multiply(
    world: MPI.Intracomm, options: argparse.Namespace, groups: tuple[Group, ...], **choices: Any
) -> None:
    """Load, multiply, write; rank 0 says what came of it."""
    from coded_mr.linear.real_product import CodedMatrix

    A = None if world.rank else load_array(options.matrix)
    matrix = CodedMatrix(A, comm=world, **choices, **waiting(options))
    matrix.lead(lambda matrix: _products(matrix, options, groups))
    matrix.end()


def _products(matrix: CodedMatrix, options: argparse.Namespace, groups: tuple[Group, ...]) -> None:
    """Be rank 0."""
    X = load_array(options.operand)
    each = options.each and X.ndim == 2
    found = [matrix.product(x) for x in (X.T if each else [X])]
    y = columns([product.y for product in found]) if each else found[0].y
    save_array(options.output, y)
    document = _document(matrix, found, options, groups)
    if options.json is not None:
        write_json(options.json, document)
    if not options.quiet and options.json != "-":
        print(_summary(options, y, document))


def _document(
    matrix: CodedMatrix, found: Sequence[Product], options: argparse.Namespace, groups: tuple[Group, ...]
) -> dict[str, Any]:
    """Return what --json writes; seconds of one product on average, and as the formula says when delayed."""
    allocation = matrix.allocation
    formula = None if options.delay is None else options.delay * allocation.mean_time(groups)
    return {
        "format": "coded-mr-matvec/1",
        "rule": allocation.name,
        "n": allocation.n,
        "k": allocation.k,
        "loads": list(allocation.loads),
        "dead": sorted(matrix.lost),
        "seconds": mean(product.seconds for product in found),
        "formula_seconds": formula,
        "bound": max(product.collected.bound for product in found),
        "products": [
            {
                "seconds": product.seconds,
                "finishers": [worker + 1 for worker in product.collected.finishers],
                "missing": product.collected.missing,
                "bound": product.collected.bound,
            }
            for product in found
        ],
    }


def _summary(options: argparse.Namespace, y: Any, document: dict[str, Any]) -> str:
    formula = document["formula_seconds"]
    said = "" if formula is None else f"; delays by the formula {formula:.4f}"
    return "\n".join(
        [
            f"result    {options.output} ({' x '.join(map(str, y.shape))}, {y.dtype})",
            f"code      {document['rule']}: {document['k']} pieces coded as {document['n']}, "
            f"workers hold {document['loads']}",
            f"accuracy  every entry within {document['bound']:.1e}",
            f"seconds   {document['seconds']:.4f} a product, {len(document['products'])} made{said}",
        ]
    )
