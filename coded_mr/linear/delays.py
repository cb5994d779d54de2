"""Workers slowed down on purpose, by seeded random delays, to compare allocation rules in one run.

The runtimes are those of Kim, Park, Choi 2019 (arXiv 1904.09496), scaled to seconds: alpha l/k + Exp(mean
l/(k mu)) for a worker with l of k rows ("job"), k times as long in the model "row". The same seed, worker and
repetition give the same draw under every rule.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import log1p
from typing import Protocol

from coded_mr.errors import UsageError
from coded_mr.linear.allocation_rules import Allocation
from coded_mr.theory.load_allocation import Group, Model

__all__ = ["Delay", "Delays", "Fixed", "completion", "linger"]

_NAP = 1e-3  # seconds between two looks at whether the work is still wanted


class Delay(Protocol):
    """Say how long a worker must take at least."""

    def seconds(self, worker: int, repetition: int, load: int, k: int) -> float:
        """Return the seconds for the load of k rows, of the worker (from 0) in a repetition (from 0)."""
        ...


@dataclass(frozen=True)
class Delays:
    """Draw shifted exponential runtimes.

    groups  the workers, in order; scale  seconds that the time 1 of the model takes
    strata  with S strata, each S repetitions in a row draw once from every S-th of the distribution of each
            worker, in random order: means are as unbiased as with 1, and far less scattered
    Raises UsageError unless scale is above 0 and strata at least 1.
    """

    groups: tuple[Group, ...]
    scale: float
    seed: int = 0
    model: Model = "job"
    strata: int = 1

    def __post_init__(self) -> None:
        """Check the ranges."""
        if not 0 < self.scale < float("inf") or self.strata < 1:
            raise UsageError(
                f"scale = {self.scale} and strata = {self.strata}: scale must be above 0, strata 1 or more"
            )

    def seconds(self, worker: int, repetition: int, load: int, k: int) -> float:
        """Return one draw, in seconds."""
        of = [group for group in self.groups for _ in range(group.N)]
        group = of[worker]
        unit = load if self.model == "row" else load / k
        return self.scale * unit * (group.alpha + self._exponential(worker, repetition) / group.mu)

    def _exponential(self, worker: int, repetition: int) -> float:
        """Return a draw with mean 1."""
        cycle, at = divmod(repetition, self.strata)
        stratum = _order(self.seed, worker, cycle, self.strata)[at]
        place = random.Random(f"{self.seed}/{worker}/{repetition}").random()
        return -log1p(-(stratum + place) / self.strata)


@dataclass(frozen=True)
class Fixed:
    """Make each worker take the same time whenever it works: per_load[worker] seconds for all k rows."""

    per_load: tuple[float, ...]

    def seconds(self, worker: int, repetition: int, load: int, k: int) -> float:
        """Return the seconds, in proportion to the load."""
        return self.per_load[worker] * load / k


def completion(allocation: Allocation, delay: Delay, repetition: int) -> float:
    """Return when k different rows have come back if the delays were all that takes time, in seconds."""
    times = [
        delay.seconds(worker, repetition, load, allocation.k) for worker, load in enumerate(allocation.loads)
    ]
    there: set[int] = set()
    for worker in sorted(range(len(times)), key=times.__getitem__):
        there.update(allocation.rows[worker])
        if len(there) >= allocation.k:
            return times[worker]
    raise UsageError(f"the workers hold {len(there)} rows of {allocation.k}: they can never finish")


def linger(end: float, unwanted: Callable[[], bool]) -> bool:
    """Sleep until a time of `time.perf_counter`; return False as soon as unwanted() is true."""
    while (left := end - time.perf_counter()) > 0:
        if unwanted():
            return False
        time.sleep(min(left, _NAP))
    return True


@lru_cache(maxsize=256)
def _order(seed: int, worker: int, cycle: int, strata: int) -> tuple[int, ...]:
    return tuple(random.Random(f"{seed}/{worker}/order/{cycle}").sample(range(strata), strata))
