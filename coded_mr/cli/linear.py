"""`coded-mr linear`: coded linear algebra; one module a subcommand, imported when it is used."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence

from coded_mr.cli import Parser

__all__ = ["main"]

# The module of a subcommand is coded_mr.cli.linear_NAME and has a function main(arguments) -> exit status.
_SUBCOMMANDS = {
    "tradeoff": "show what latency and bandwidth each number of awaited servers costs, without MPI",
    "matmul": "multiply matrices over a finite field, waiting only for the servers that finish first",
    "matvec": "multiply a real matrix from the first coded rows that come back",
    "elastic": "multiply a real matrix while machines come and go",
}


def main(arguments: Sequence[str]) -> int:
    """Run a subcommand and return its exit status."""
    words = list(arguments)
    if not words or words[0] not in _SUBCOMMANDS:
        _parser().parse_args(words)
    module = importlib.import_module(f"coded_mr.cli.linear_{words[0]}")
    status: int = module.main(words[1:])
    return status


def _parser() -> Parser:
    listing = "\n".join(f"  {name:10}{text}" for name, text in _SUBCOMMANDS.items())
    parser = Parser(
        prog="coded-mr linear",
        description=f"Run linear algebra on coded matrices.\n\nsubcommands:\n{listing}",
        epilog="`coded-mr linear SUBCOMMAND --help` explains a subcommand.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("subcommand", choices=_SUBCOMMANDS, metavar="SUBCOMMAND ...", help=argparse.SUPPRESS)
    return parser
