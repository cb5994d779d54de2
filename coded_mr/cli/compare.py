"""`coded-mr compare`: several plans of one job on the same ranks, taking turns."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from coded_mr.cli import Parser, world
from coded_mr.cli.options import add_scratch, check_scratch, write_json
from coded_mr.engine.comparison import OWN_LOADS, Question, Wish, compare
from coded_mr.engine.comparison_report import table
from coded_mr.errors import UsageError
from coded_mr.io.output import OutputDirectory
from coded_mr.launch import JOB_ID
from coded_mr.plan.planner import SCHEMES
from coded_mr.report import plot

if TYPE_CHECKING:
    from mpi4py import MPI

    from coded_mr.engine.runner import Order

__all__ = ["main"]

# Cascaded CDC is another job unless s says at how many solvers a partition is reduced: asked for by name.
_ALL = tuple(Wish(scheme) for scheme in SCHEMES if scheme != "cascaded")
_WITH_HELPERS = ("solver-helper", "mixture", "uncoded")
_ROUNDS = 3
_DONE = "finished"


class Compare(world.Command):
    """Compare plans; nothing is written but the JSON and the picture asked for."""

    name = "compare"
    description = (
        "Carry out several plans of one job on the same ranks, in turn, several times, and show predicted "
        "and measured times, the bytes sent and the least that they can be. Every pair of --schemes and --r "
        "that the ranks allow is one plan, the one that `run --scheme S -r R` carries out; the planner's own "
        "choice takes part too. The results, which must be the same for all plans, are thrown away."
    )

    def add_options(self, parser: Parser) -> None:
        """Add what to compare, and where the picture goes."""
        group = parser.add_argument_group("comparison")
        group.add_argument(
            "--schemes",
            type=_wishes,
            metavar="S,S,...",
            help=f"schemes to compare, of {', '.join(SCHEMES)}; cascaded:2 reduces each partition at 2 "
            "solvers (default: all but cascaded)",
        )
        group.add_argument(
            "--r",
            dest="loads",
            type=_loads,
            metavar="R,R,...|all",
            help=f"computation loads, whole numbers; {' and '.join(OWN_LOADS)} have their own (default: all, "
            "0 to Q)",
        )
        group.add_argument(
            "--rounds",
            type=_rounds,
            default=_ROUNDS,
            metavar="N",
            help=f"how often each plan is carried out (default: {_ROUNDS})",
        )
        group.add_argument("--plot", metavar="FILE", help="draw the times over r: FILE.png or FILE.svg")
        add_scratch(parser)

    def check(self, options: argparse.Namespace) -> None:
        """Refuse options of `run` that name one plan, and files that could not be written."""
        for given, flag, instead in (
            (options.load is not None, "-r/--load", "--r, such as --r 0,1,2 or --r all"),
            (options.scheme is not None, "--scheme", "--schemes, such as --schemes solver-helper,uncoded"),
            (options.s != 1, "-s", "--schemes cascaded:S, such as --schemes cascaded:2"),
        ):
            if given:
                raise UsageError(f"{flag} names one plan; compare takes {instead}")
        _question(options)
        check_scratch(options.scratch)
        if options.plot is not None:
            plot.check_target(options.plot)

    def output(self, options: argparse.Namespace, job_id: str) -> str:
        """Return a name in the scratch directory; only its hidden sibling is ever made."""
        return str(Path(options.scratch) / f"coded-mr-compare-{job_id}")

    def finished(self, options: argparse.Namespace, job_id: str) -> bool:
        """Tell whether rank 0 left its mark, which goes with the hidden directory."""
        return (_hidden(self.output(options, job_id), job_id) / _DONE).exists()

    def run(self, world: MPI.Intracomm, order: Order, options: argparse.Namespace) -> None:
        """Compare; rank 0 says what came of it."""
        found = compare(world, order, _question(options))
        if found is None:
            return
        if options.plot is not None:
            plot.draw(found, options.plot)
        if options.json is not None:
            write_json(options.json, found.to_dict())
        if not options.quiet and options.json != "-":
            print(table(found))
            sys.stdout.flush()
        # Only the process that started MPI looks for the mark, and only it takes it away.
        if JOB_ID in os.environ:
            hidden = _hidden(order.output, order.job_id)
            hidden.mkdir()
            (hidden / _DONE).touch()


def _hidden(output: str, job_id: str) -> Path:
    return OutputDirectory(output, job_id, overwrite=False).temporary


def _question(options: argparse.Namespace) -> Question:
    """Return what is compared; raises UsageError for helpers where a scheme has none."""
    if options.helpers is None:
        return Question(options.schemes or _ALL, options.loads, options.rounds)
    wishes = options.schemes or tuple(wish for wish in _ALL if wish.scheme in _WITH_HELPERS)
    without = [str(wish) for wish in wishes if wish.scheme not in _WITH_HELPERS]
    if without and options.helpers:
        raise UsageError(
            f"--helpers {options.helpers}: {', '.join(without)} has no helpers; leave it out of --schemes, "
            f"or leave --helpers out"
        )
    return Question(wishes, options.loads, options.rounds)


def _wishes(text: str) -> tuple[Wish, ...]:
    """Return the schemes of a list, each once."""
    return tuple(dict.fromkeys(_wish(word.strip()) for word in text.split(",")))


def _wish(word: str) -> Wish:
    scheme, colon, s = word.partition(":")
    if scheme not in SCHEMES:
        raise argparse.ArgumentTypeError(f"no scheme is called {scheme!r}; there are: {', '.join(SCHEMES)}")
    if colon and scheme != "cascaded":
        raise argparse.ArgumentTypeError(f"{word!r}: only cascaded reduces a partition at several solvers")
    return Wish(scheme, _whole(s, 1) if colon else 1)


def _loads(text: str) -> tuple[int, ...] | None:
    """Return the computation loads of a list, ascending and each once; None for all."""
    return None if text == "all" else tuple(sorted({_whole(word.strip(), 0) for word in text.split(",")}))


def _rounds(text: str) -> int:
    return _whole(text, 1)


def _whole(text: str, least: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) >= least):
        raise argparse.ArgumentTypeError(f"must be whole numbers of at least {least}, not {text!r}")
    return int(text)


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    return world.main(Compare(), arguments)
