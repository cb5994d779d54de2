"""The commands of a page of documentation, and a shell that runs them as its reader would.

A page shows a session as a block

    ```console
    $ coded-mr plan -p 3 --costs 1,2,1
    what it prints
    ```

README's blocks are indented and have no prompt: there a line is a command when it begins with a program.
A comment before a block says how it is to be taken:

    <!-- numbers vary -->                  any number stands for any other in what is shown
    <!-- numbers vary: seconds, costs -->  only in lines that begin with one of these words
    <!-- status 2 -->                      the block's last command ends with this status
    <!-- where a rank may die -->          run on an MPI that carries the death of a rank
    <!-- elsewhere: TEST needs WHAT -->    not run here; TEST, a file or file::function, runs such commands

In what is shown `...` stands for anything, and spaces may be more or fewer. A block of code with a caption is
a file of that name, which the reader saves before the first command.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

__all__ = ["Block", "Command", "Page", "matches", "script", "spoken", "statuses"]

_COMMENT = re.compile(
    r"<!-- (?P<words>(?:numbers vary|status|where a rank may die|elsewhere)\b.*?) -->", re.DOTALL
)
_ELSEWHERE = re.compile(r"elsewhere: (?P<test>\S+) needs (?P<what>.+)", re.DOTALL)
_PROGRAMS = ("$", "coded-mr", "python3", "bash", "mpirun", "srun", "docker")
_ANY_NUMBER = r"[0-9](?:[0-9,.]|e[+-][0-9])*"
# A run that takes long on a busy machine says how far it is.
_PROGRESS = re.compile(r"^coded-mr: \w+ +\d+%.*\n", re.MULTILINE)
# Ends what a command printed; no program prints this character.
_MARK = "\x01"


@dataclass(frozen=True)
class Command:
    """Hold a command and what the page shows that it prints; None: the page shows nothing."""

    text: str
    line: int
    shown: str | None = None


@dataclass(frozen=True)
class Block:
    """Hold the commands that one block shows, and what the comment before it says."""

    commands: tuple[Command, ...]
    note: str = ""

    @property
    def elsewhere(self) -> tuple[str, str] | None:
        """Return the test that runs such commands and what it needs, for a block that is not run here."""
        found = _ELSEWHERE.fullmatch(self.note)
        return (found["test"], found["what"]) if found else None

    @property
    def kills(self) -> bool:
        """Tell whether a rank dies in the block."""
        return self.note == "where a rank may die"

    @property
    def status(self) -> int:
        """Return the status of the last command."""
        return int(self.note.split()[1]) if self.note.startswith("status") else 0

    @property
    def varying(self) -> tuple[str, ...] | None:
        """Return the first words of the lines in which numbers vary; ("",) is every line."""
        what, _, words = self.note.partition(":")
        return tuple(word.strip() for word in words.split(",")) if what == "numbers vary" else None


@dataclass(frozen=True)
class Page:
    """Hold what a page tells its reader to save and to run, in order."""

    path: Path
    blocks: tuple[Block, ...] = ()
    files: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Page:
        """Read a page in Markdown."""
        files: dict[str, str] = {}
        blocks: list[Block] = []
        note = ""
        for token in MarkdownIt().parse(path.read_text(encoding="utf-8")):
            if token.type == "html_block" and (found := _COMMENT.match(token.content.strip())):
                note = " ".join(found["words"].split())
                continue
            if token.type in ("fence", "code_block"):
                if caption := _caption(token):
                    files[caption] = _body(token)
                elif commands := tuple(_commands(token)):
                    blocks.append(Block(commands, note))
            note = ""
        return cls(path, tuple(blocks), files)

    @property
    def here(self) -> tuple[Block, ...]:
        """Return the blocks that are run here."""
        return tuple(block for block in self.blocks if block.elsewhere is None)

    def runs(self, *, survives: bool) -> tuple[Block, ...]:
        """Return the blocks that are run here on an MPI that survives the death of a rank, or does not."""
        return tuple(block for block in self.here if survives or not block.kills)


def _caption(token: Token) -> str | None:
    found = re.match(r":caption: (\S+)\n", token.content) if token.info.startswith("{code-block}") else None
    return found[1] if found else None


def _body(token: Token) -> str:
    return re.sub(r"^:\w+:.*\n", "", token.content, flags=re.MULTILINE).lstrip("\n")


def _commands(token: Token) -> Iterator[Command]:
    """Yield the commands of a block, each with the lines up to the next one; none if it has no session."""
    lines = token.content.rstrip("\n").split("\n")
    session = token.info.strip() == "console"
    if not (session or (token.type == "code_block" and lines[0].split(" ")[0] in _PROGRAMS)):
        return
    starts = [at for at, line in enumerate(lines) if line.split(" ")[0] in (("$",) if session else _PROGRAMS)]
    first = (token.map or [0])[0] + (2 if session else 1)
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        text = lines[start].removeprefix("$ ")
        while text.endswith("\\"):
            start += 1
            text = f"{text[:-1]}{lines[start].removeprefix('> ')}"
        shown = "\n".join(lines[start + 1 : stop]).strip("\n")
        yield Command(text, first + start, shown or None)


def script(commands: Sequence[str]) -> str:
    """Return a shell script that runs commands one after the other and marks where each one ends."""
    end = f"</dev/null 2>&1\nprintf '{_MARK}%d{_MARK}' $?"
    return "".join(f"{{ {command}\n}} {end}\n" for command in commands)


def statuses(output: str) -> list[tuple[str, int]]:
    """Return what each command of a script printed, and its status."""
    parts = output.split(_MARK)
    return [(text, int(status)) for text, status in zip(parts[::2], parts[1::2], strict=False)]


def matches(shown: str, printed: str, varying: Sequence[str] | None) -> bool:
    """Tell whether a command printed what the page shows."""
    printed = _PROGRESS.sub("", printed)
    pattern = r"\s+".join(_line_pattern(line, varying) for line in shown.split("\n") if line.strip())
    return re.fullmatch(rf"\s*{pattern}\s*", printed, re.DOTALL) is not None


def _line_pattern(line: str, varying: Sequence[str] | None) -> str:
    loose = varying is not None and line.strip().startswith(tuple(varying))
    words = []
    for word in line.split():
        parts = [_number_pattern(part) if loose else re.escape(part) for part in word.split("...")]
        words.append(".*?".join(parts))
    return r"\s+".join(words)


def _number_pattern(text: str) -> str:
    """Return a pattern in which every number stands for any."""
    return _ANY_NUMBER.join(map(re.escape, re.split(_ANY_NUMBER, text)))


def spoken(command: str) -> Iterator[list[str]]:
    """Yield the words after each call of `coded-mr`, whatever starts it; in `-t coded-mr` it is a name."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = "#"
    words: list[str] | None = None
    before = ""
    for token in lexer:
        if set(token) <= set("();<>|&"):
            if words is not None:
                yield words
            words = None
        elif words is not None:
            words.append(token)
        elif token.rsplit("/", 1)[-1] in ("coded-mr", "coded_mr") and before != "-t":
            words = []
        before = token
    if words is not None:
        yield words
