"""Count how often each word occurs: `coded-mr run jobs/wordcount.py INPUT... -o OUT`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from coded_mr import InputFile, Job

__all__ = ["WordCount"]


class WordCount(Job):
    """Count the words, separated by white space, of text files; output: word, tab, count."""

    def map(self, file: InputFile) -> Iterable[tuple[str, int]]:
        return Counter(file.words()).items()

    def combine(self, key: str, values: list[int]) -> int:
        return sum(values)

    def reduce(self, key: str, values: list[int]) -> Iterator[tuple[str, int]]:
        yield key, sum(values)
