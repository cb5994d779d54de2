"""Which machines are available at each step: from a list, a file of steps, a file that changes, or at random.

A trace is any function from the number of a step, 0, 1, ..., to the numbers of the machines, 1..N.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from coded_mr.errors import InputError, UsageError

__all__ = ["Trace", "always", "cycle", "random_trace", "read_trace", "watch"]

Trace = Callable[[int], Iterable[int]]


def always(machines: int) -> Trace:
    """Return the trace in which machines 1..N are always there."""
    return cycle([range(1, machines + 1)])


def cycle(steps: Sequence[Iterable[int]]) -> Trace:
    """Return the trace that goes round these sets; raises UsageError without any."""
    sets = [frozenset(step) for step in steps]
    if not sets:
        raise UsageError("a trace without a step says nothing about who is available")
    return lambda number: sets[number % len(sets)]


def random_trace(machines: int, chance: float, seed: int = 0) -> Trace:
    """Return the trace in which each machine is away with a chance, independently in each step.

    Raises UsageError unless 0 <= chance < 1.
    """
    if not 0 <= chance < 1:
        raise UsageError(f"the chance of a machine to be away is {chance!r}: it must be in 0..1, below 1")

    def available(number: int) -> list[int]:
        draws = random.Random(f"{seed}/{number}")
        return [machine for machine in range(1, machines + 1) if draws.random() >= chance]

    return available


def read_trace(path: str) -> Trace:
    """Return the trace in a file: a line a step, the numbers of the machines between spaces; # comments.

    The steps are gone round. Raises InputError when it cannot be read, or holds anything else, or no step.
    """
    steps = _steps(path)
    if not steps:
        raise InputError(f"{path} holds no step: write a line with the numbers of the machines for each")
    return cycle(steps)


def watch(path: str) -> Trace:
    """Return the trace that reads a file anew at every step: its last line names who is available then.

    Raises InputError, at a step, as `read_trace` does; an empty file says that nobody is available.
    """

    def available(number: int) -> list[int]:
        steps = _steps(path)
        return steps[-1] if steps else []

    return available


def _steps(path: str) -> list[list[int]]:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the trace {path}: {error}; name a text file") from error
    steps = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not all(word.isascii() and word.isdigit() for word in words):
            raise InputError(f"{path}, line {number}: {line!r} must hold numbers of machines between spaces")
        if words:
            steps.append([int(word) for word in words])
    return steps
