"""The parsers of the commands: each is asked for its help, and gives the parser that would print it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import NoReturn
from unittest import mock

from coded_mr.cli import Parser, main
from coded_mr.errors import UsageError

__all__ = ["commands", "options_of", "parser_of"]


class _AskedError(Exception):
    def __init__(self, parser: Parser) -> None:
        self.parser = parser


def _hand_over(parser: Parser, file: object = None) -> NoReturn:
    raise _AskedError(parser)


def parser_of(words: Sequence[str]) -> Parser:
    """Return the parser of a command, such as ["linear", "matvec"].

    With a JOB after the command, its parameters are among the options. Raises UsageError when there is no
    such command or job.
    """
    with mock.patch.object(Parser, "print_help", _hand_over):
        try:
            main([*words, "--help"])
        except _AskedError as asked:
            return asked.parser
    raise UsageError(f"`coded-mr {' '.join(words)}` names no command, or a job that cannot be loaded")


def commands(above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Parser]]:
    """Yield the words and the parser of every command, those of subcommands in place of their parent."""
    parser = parser_of(above)
    below = next((a for a in parser._actions if a.dest in ("command", "subcommand")), None)
    if below is None:
        yield above, parser
        return
    for name in below.choices or ():
        yield from commands((*above, name))


def options_of(group: argparse._ArgumentGroup) -> list[argparse.Action]:
    """Return the arguments of a group that help shows, but for --help itself."""
    return [a for a in group._group_actions if a.help != argparse.SUPPRESS and a.dest != "help"]
