"""The command line: one function a command, imported when the command is used."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import coded_mr
from coded_mr.errors import CodedMRError, LaunchError, UsageError
from coded_mr.launch.world import announced

__all__ = ["Parser", "main"]

# Rank 0 gets this long to report what all ranks see, before a rank that fails alone speaks for itself.
_RANK_0_SECONDS = 2.0

_COMMANDS = {
    "run": "run a job on files",
    "calibrate": "measure what a job costs on these ranks",
    "compare": "run several plans of a job on the same ranks, and show their times and bytes",
    "report": "show a run as a page, or compare runs",
    "plan": "show the optimal number of servers and the computation load, without MPI",
    "simulate": "see where coding pays on a machine that does not exist, without MPI",
    "linear": "coded linear algebra: products that do not wait for slow servers",
    "verify": "prove that a plan works, and hold its load against the least possible",
    "generate": "write the input of a benchmark",
    "validate": "check the output of a benchmark",
    "new": "write a job to start from, and its test",
    "check": "try a job on a sample in one process, where a debugger works",
    "sbatch": "print a batch script for Slurm, sized by the planner",
    "doctor": "see whether a job would run here, and what to mend",
}


class Parser(argparse.ArgumentParser):
    """Parse arguments; report a mistake as UsageError instead of exiting."""

    def error(self, message: str) -> NoReturn:
        """Raise UsageError with the usage line."""
        raise UsageError(
            f"{message}\n{self.format_usage().rstrip()}\n`{self.prog} --help` explains the options"
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _dispatch(arguments)
    except CodedMRError as error:
        return _report(error)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output has gone, as `| head` does: nothing more to say, and nothing to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in _COMMANDS:
        _top().parse_args(arguments)
    command = importlib.import_module(f"coded_mr.cli.{arguments[0]}")
    status: int = command.main(arguments[1:])
    return status


def _top() -> Parser:
    listing = "\n".join(f"  {name:10}{text}" for name, text in _COMMANDS.items())
    parser = Parser(
        prog="coded-mr",
        description=f"{coded_mr.__doc__}\n\ncommands:\n{listing}",
        epilog="`coded-mr COMMAND --help` explains a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"coded-mr {coded_mr.__version__}")
    parser.add_argument("command", choices=_COMMANDS, metavar="COMMAND ...", help=argparse.SUPPRESS)
    return parser


def _report(error: CodedMRError) -> int:
    try:
        world = announced(os.environ)
    except LaunchError:
        world = None
    if world is not None and world.rank > 0:
        time.sleep(_RANK_0_SECONDS)
    print(_explain(error), file=sys.stderr, flush=True)
    if world is not None and world.size > 1 and not isinstance(error, LaunchError):
        # The others may be waiting for this rank in MPI_Init, which a plain exit does not end everywhere.
        from coded_mr.engine.failing import abort_world

        abort_world(error.exit_status)
    return error.exit_status


def _explain(error: CodedMRError) -> str:
    """Return the message, behind the user's own traceback where user code is the cause."""
    import traceback

    text = f"coded-mr: {error}"
    cause = error.__cause__
    if cause is None or isinstance(cause, (OSError, SyntaxError, CodedMRError)) or not cause.__traceback__:
        return text
    own = str(Path(coded_mr.__file__).parent)
    shown = traceback.TracebackException.from_exception(cause)
    # Neither ours nor what dataclasses and the import machinery made.
    frames = [f for f in shown.stack if not f.filename.startswith((own, "<"))]
    if not frames:
        return text
    shown.stack = traceback.StackSummary.from_list(frames)
    return "".join(shown.format()) + text
