"""A job that goes wrong on demand, at the line that says so."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

from coded_mr import InputFile, Job

__all__ = ["Failing"]


class Failing(Job):
    """Count words until one of them asks for trouble."""

    def map(self, file: InputFile) -> Iterator[tuple[object, float]]:
        for line in file.lines():
            if "map-raises" in line:
                raise ValueError("trouble in map")
            if "map-exits" in line:
                raise SystemExit(0)
            if "map-kills" in line:
                os.kill(os.getpid(), 9)
            if "list-key" in line:
                yield ["a", "list"], 1  # type: ignore[misc]
            for word in line.split():
                yield word, random.random() if word == "random-value" else 1

    def reduce(self, key: object, values: list[float]) -> Iterator[tuple[object, float]]:
        if key == "reduce-raises":
            raise KeyError("trouble in reduce")
        if key == "reduce-kills":
            os.kill(os.getpid(), 9)
        yield key, len(values)
