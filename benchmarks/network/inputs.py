"""Inputs that every machine can have, and the check of every result against one made without coded-mr."""

from __future__ import annotations

import random
import sysconfig
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from coded_mr.errors import CodedMRError
from coded_mr.terasort.generate import generate
from coded_mr.terasort.validate import part_files, validate

__all__ = ["JOBS", "Input", "WrongResultError", "check", "make"]

_TOP = Path(__file__).parents[2]
JOBS = {name: _TOP / "jobs" / f"{name}.py" for name in ("terasort", "wordcount")}


class WrongResultError(CodedMRError):
    """Say which rival's result is not what it should be."""


class Input(NamedTuple):
    """Name the files of an input, and what tells whether a result is right: see `check`."""

    paths: tuple[str, ...]
    expected: str


def make(job: str, size: float, folder: Path) -> Input:
    """Write about `size` MB of input for a job into a folder, unless it is there.

    TeraSort: ASCII records as gensort makes them. Word count: the sources of Python's standard library, in a
    random order, that no word is common in one part only.
    """
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / f"{job}-{size:g}"
    if job == "terasort":
        found = generate(data, round(size * 10_000), overwrite=True)
        return Input((str(data),), found.checksum)
    expected = data.with_suffix(".expected")
    text = _text(round(size * 1_000_000))
    data.write_text(text, encoding="utf-8")
    counts = Counter(text.split())
    expected.write_text("".join(sorted(f"{word}\t{n}\n" for word, n in counts.items())), encoding="utf-8")
    return Input((str(data),), str(expected))


def _text(size: int) -> str:
    """Return the beginning of the shuffled sources, over and over if they are not enough."""
    top = Path(sysconfig.get_path("stdlib"))
    paths = sorted(path for path in top.rglob("*.py") if "site-packages" not in path.parts)
    random.Random(0).shuffle(paths)
    pieces: list[str] = []
    length = 0
    while length < size:
        for path in paths:
            pieces.append(path.read_text(encoding="utf-8", errors="replace") + "\n")
            length += len(pieces[-1])
            if length >= size:
                break
    return "".join(pieces)[:size]


def check(job: str, output: Path, expected: str, rival: str) -> None:
    """Compare a result with what it must be: sorted and of this checksum, or these lines in any order.

    Raises WrongResultError.
    """
    if job == "terasort":
        found = validate([output])
        if found.first_error is not None or not found.sorted or found.checksum != expected:
            reason = found.first_error or f"its checksum is {found.checksum}, that of the input {expected}"
            raise WrongResultError(f"the result of {rival} is wrong: {reason}")
        return
    lines = [
        line
        for part in part_files([output])
        for line in part.read_text(encoding="utf-8").splitlines(keepends=True)
    ]
    if "".join(sorted(lines)) != Path(expected).read_text(encoding="utf-8"):
        raise WrongResultError(f"the result of {rival} is wrong: its lines are not those of {expected}")
