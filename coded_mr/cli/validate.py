"""`coded-mr validate terasort`: is the output sorted, and is it the input?"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from coded_mr.cli import Parser

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status: 0 when everything holds, 1 when something does not."""
    from coded_mr.terasort.validate import checksum_of, validate

    parser = Parser(prog="coded-mr validate", description="Check the output of a benchmark.")
    parser.add_argument("benchmark", choices=("terasort",))
    parser.add_argument("output", nargs="+", metavar="OUT", help="output directory, or part files in order")
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="FILE",
        help="compare with the checksum of what was sorted",
    )
    options = parser.parse_args(list(arguments))
    found = validate(options.output)
    print(found.summary())
    if not found.sorted or found.first_error is not None:
        print("coded-mr: the output is not sorted, or is damaged", file=sys.stderr)
        return 1
    if options.input:
        expected = checksum_of(*options.input)
        if expected != found.checksum:
            print(
                f"coded-mr: the input has checksum {expected}, the output {found.checksum}: "
                f"records were lost, doubled or changed",
                file=sys.stderr,
            )
            return 1
        print(f"input       the same records (checksum {expected})")
    return 0
