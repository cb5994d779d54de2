"""A job whose output is what surrounds its ranks."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from coded_mr import InputFile, Job

__all__ = ["Surroundings"]


class Surroundings(Job):
    """Count the files that are mapped in each combination of scratch directory and threads."""

    def map(self, file: InputFile) -> Iterator[tuple[str, int]]:
        place = tempfile.gettempdir()
        there = "there" if Path(place).is_dir() else "not there"
        yield f"{place} {there}, {os.environ.get('OMP_NUM_THREADS')} thread", 1

    def reduce(self, key: str, values: list[int]) -> Iterator[tuple[str, int]]:
        yield key, sum(values)
