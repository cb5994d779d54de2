"""When each stage of a rank began and ended."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

__all__ = ["Stage", "Timeline"]

_LOG = logging.getLogger("coded_mr")


@dataclass(frozen=True)
class Stage:
    """Name a stage with its start and stop, in seconds since the timeline began."""

    name: str
    start: float
    stop: float

    @property
    def seconds(self) -> float:
        """Return the duration."""
        return self.stop - self.start


@dataclass
class Timeline:
    """Record the stages of one rank by wall clock; `speaks` logs each when it is over."""

    speaks: bool = False
    stages: list[Stage] = field(default_factory=list)
    _zero: float = field(default_factory=time.perf_counter)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Record the enclosed block under a name."""
        start = self.now()
        yield
        self.add(name, start)

    def now(self) -> float:
        """Return the seconds since the timeline began."""
        return time.perf_counter() - self._zero

    def add(self, name: str, start: float) -> None:
        """Record a stage that began at `start` and ends now."""
        self.stages.append(Stage(name, start, self.now()))
        if self.speaks:
            _LOG.info("%s: %.3f s", name, self.stages[-1].seconds)

    def seconds(self, name: str) -> float:
        """Return the total duration of the stages of that name."""
        return sum(stage.seconds for stage in self.stages if stage.name == name)
