"""List the files that hold each word: `coded-mr run jobs/inverted_index.py INPUT... -o OUT`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain

from coded_mr import InputFile, Job

__all__ = ["InvertedIndex"]

Paths = tuple[bytes, ...]  # bytes, because the name of a file need not be UTF-8


class InvertedIndex(Job):
    """List for each word the files that hold it; output: word and sorted paths, separated by tabs."""

    def map(self, file: InputFile) -> Iterator[tuple[str, Paths]]:
        paths = (os.fsencode(file.path),)
        for word in set(file.words()):
            yield word, paths

    def combine(self, key: str, values: list[Paths]) -> Paths:
        return tuple(sorted(set(chain.from_iterable(values))))

    def reduce(self, key: str, values: list[Paths]) -> Iterator[tuple[str, Paths]]:
        yield key, self.combine(key, values)
