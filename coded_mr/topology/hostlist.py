"""Lists of names as Slurm writes them: `h[1-4,7],login` for h1, h2, h3, h4, h7 and login."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from math import prod

from coded_mr.errors import UsageError

__all__ = ["MOST_NAMES", "expand"]

MOST_NAMES = 1 << 16
"""As many names as a list may stand for."""

_ITEM = re.compile(r"(?:[^\[\],\s]|\[[^\[\]]*\])+")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_LONGEST_NUMBER = 18  # digits


def expand(text: str) -> tuple[str, ...]:
    """Return the names of a list, in its order.

    Items are separated by commas. Each `[...]` of an item stands for all its numbers, separated by commas or
    from-to, as long as written: `h[08-10]` is h08, h09, h10. Raises UsageError for anything else, and for
    more than MOST_NAMES names.
    """
    names: list[str] = []
    for item in _items(text):
        parts = re.split(r"\[([^\[\]]*)\]", item)
        choices = [_numbers(part, item) if odd % 2 else [part] for odd, part in enumerate(parts)]
        if len(names) + prod(map(len, choices)) > MOST_NAMES:
            raise UsageError(f"the list {_short(text)} stands for more than {MOST_NAMES:,} names")
        names += map("".join, product(*choices))
    return tuple(names)


def _items(text: str) -> Iterator[str]:
    """Yield what stands between the commas outside brackets."""
    at = 0
    while found := _ITEM.match(text, at):
        yield found.group()
        at = found.end()
        if at < len(text) and text[at] == ",":
            at += 1
            continue
        break
    if at < len(text) or not text or text.endswith(","):
        raise UsageError(f"{_short(text)} is no list of names such as h[1-4,7],login")


def _numbers(ranges: str, item: str) -> list[str]:
    """Return the numbers between brackets, as they are written."""
    found: list[str] = []
    for part in ranges.split(","):
        match = _RANGE.fullmatch(part)
        first, last = (match.group(1), match.group(2) or match.group(1)) if match else ("1", "0")
        if max(len(first), len(last)) > _LONGEST_NUMBER or int(first) > int(last):
            raise UsageError(
                f"[{_short(ranges)}] in {_short(item)}: write numbers and ranges, such as [1-4,7]"
            )
        if int(last) - int(first) >= MOST_NAMES:
            raise UsageError(f"the list {_short(item)} stands for more than {MOST_NAMES:,} names")
        found += [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
    return found


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
