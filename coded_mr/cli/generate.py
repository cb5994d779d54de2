"""`coded-mr generate terasort`: records to sort."""

from __future__ import annotations

from collections.abc import Sequence

from coded_mr.cli import Parser

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    from coded_mr.terasort.generate import KINDS, generate

    parser = Parser(prog="coded-mr generate", description="Write the input of a benchmark.")
    parser.add_argument("benchmark", choices=("terasort",))
    parser.add_argument("file", metavar="FILE", help="file to write")
    parser.add_argument("-n", "--records", type=int, required=True, metavar="N", help="records of 100 bytes")
    parser.add_argument(
        "--start", type=int, default=0, metavar="I", help="number of the first record (default 0)"
    )
    parser.add_argument(
        "--kind", choices=KINDS, default="ascii", help="how the keys are made (default ascii)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the random kinds (default 0)")
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    options = parser.parse_args(list(arguments))
    made = generate(
        options.file,
        options.records,
        start=options.start,
        kind=options.kind,
        seed=options.seed,
        overwrite=options.overwrite,
    )
    print(made.summary())
    return 0
