"""Find lines by a regular expression: `coded-mr run jobs/grep.py INPUT... -o OUT --pattern RE`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from coded_mr import InputFile, Job

__all__ = ["Grep"]


class Grep(Job):
    """Find the lines that match a regular expression; output: path:line:text, sorted within a path.

    pattern: regular expression, in Python's syntax
    ignore_case: let upper and lower case match each other
    """

    whole_files = True  # so that lines are numbered from the start of their file

    pattern: str
    ignore_case: bool = False

    def __post_init__(self) -> None:
        try:
            self.expression = re.compile(self.pattern, re.IGNORECASE if self.ignore_case else 0)
        except re.error as error:
            raise ValueError(f"{self.pattern!r} is no regular expression: {error}") from error

    def map(self, file: InputFile) -> Iterator[tuple[tuple[str, int], str]]:
        for number, line in enumerate(file.lines(), 1):
            if self.expression.search(line):
                yield (file.name, number), line

    def partition(self, key: tuple[str, int], partitions: int) -> int:
        return super().partition(key[0], partitions)  # all lines of a file to the same output

    def format(self, key: tuple[str, int], value: str) -> str:
        path, number = key
        return f"{path}:{number}:{value}"
