"""The directive `commands`: every command with its arguments, from the parsers themselves."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator
from typing import Any
from unittest import mock

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from coded_mr.cli import Parser
from docs.extensions.parsers import commands, options_of

__all__ = ["Commands", "reference", "setup"]

_COLUMNS = "88"
_OUTSIDE_CODE = re.compile(r"(`[^`]*`)|([\\*_<>\[\]|$#])")


def reference(parser: Parser, level: int) -> str:
    """Return the section of a command as Markdown, its heading at a level."""
    with mock.patch.dict(os.environ, COLUMNS=_COLUMNS):
        usage = parser.format_usage().rstrip()
    parts = [f"{'#' * level} {parser.prog}", _text(parser.description), f"```text\n{usage}\n```"]
    parts.append(f"```{{program}} {parser.prog}\n```")
    for group in parser._action_groups:
        if shown := options_of(group):
            parts.append(f"**{(group.title or 'options').capitalize()}**")
            parts += [_argument(parser, action) for action in shown]
    if parser.epilog:
        parts.append(_text(parser.epilog))
    return "\n\n".join(parts)


def _argument(parser: Parser, action: argparse.Action) -> str:
    help_text = _text((action.help or "") % {**vars(action), "prog": parser.prog})
    value = _value(action)
    if not action.option_strings:
        return f"`{value}`\n: {help_text or _choices(action)}"
    names = ", ".join(f"{name} {value}".rstrip() for name in action.option_strings)
    return f"```{{option}} {names}\n\n{help_text}\n```"


def _value(action: argparse.Action) -> str:
    """Return what stands for an argument's value in the usage; nothing for a flag."""
    if action.nargs == 0:
        return ""
    name = action.metavar or (f"{{{','.join(map(str, action.choices))}}}" if action.choices else None)
    word = name if isinstance(name, str) else action.dest.upper()
    return f"{word}..." if action.nargs in ("+", "*") else word


def _choices(action: argparse.Action) -> str:
    return f"one of {', '.join(map(str, action.choices))}" if action.choices else "a value"


def _text(text: str | None) -> str:
    """Return text with everything but its code taken literally by Markdown."""
    return _OUTSIDE_CODE.sub(lambda found: found[1] or f"\\{found[2]}", text or "")


class Commands(SphinxDirective):
    """Put the reference of all commands here."""

    def run(self) -> list[nodes.Node]:
        """Return a section for each command."""
        return list(self._sections())

    def _sections(self) -> Iterator[nodes.Node]:
        for _, parser in commands():
            yield from self.parse_text_to_nodes(reference(parser, 2), allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
