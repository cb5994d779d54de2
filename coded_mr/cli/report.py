"""`coded-mr report`: a page of one run, or runs beside each other."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from coded_mr.cli import Parser
from coded_mr.errors import OutputError, UsageError

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    parser = Parser(
        prog="coded-mr report",
        description="Show a run as a page that opens anywhere, or compare runs. RUN is what "
        "`coded-mr run ... --json RUN` wrote; ratios are to the first RUN.",
    )
    parser.add_argument(
        "runs", nargs="+", metavar="RUN", help="run reports: one for its page, more to compare"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="page to write; a comparison without it goes to standard output",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    options = parser.parse_args(arguments)
    if options.output is None and len(options.runs) == 1:
        raise UsageError("where should the page go? Give -o FILE.html, or a second RUN to compare with")
    if options.output is not None:
        _check(options.output, options.runs, options.overwrite)
    from coded_mr.report.document import load

    runs = [load(path) for path in options.runs]
    if options.output is None:
        from coded_mr.report.history import history_text

        print(history_text(options.runs, runs), file=sys.stdout)
    elif len(runs) == 1:
        from coded_mr.report.page import build_page

        _write(options.output, build_page(runs[0]))
    else:
        from coded_mr.report.history import build_history_page

        _write(options.output, build_history_page(options.runs, runs))
    return 0


def _check(output: str, runs: Sequence[str], overwrite: bool) -> None:
    """Refuse, before any work, a page that could not or should not be written."""
    target = Path(output)
    if target.is_dir():
        raise OutputError(f"{output} is a directory: name a file")
    if any(target.exists() and Path(run).exists() and target.samefile(run) for run in runs):
        raise OutputError(f"{output} is a run report to read: name another file for the page")
    if target.exists() and not overwrite:
        raise OutputError(f"{output} exists: name another file, or add --overwrite to replace it")
    if not target.absolute().parent.is_dir():
        raise OutputError(f"the directory {target.absolute().parent} does not exist: create it first")


def _write(output: str, page: str) -> None:
    """Write the page whole or not at all."""
    target = Path(output)
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        draft.write_text(page, encoding="utf-8")
        draft.replace(target)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise OutputError(f"cannot write {output}: {error.strerror}; name another file") from error
