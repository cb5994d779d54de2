"""What rank 0 knows of all ranks while they work, and the line that tells a person."""

from __future__ import annotations

import statistics
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from coded_mr.text import bytes_text

__all__ = ["STAGES", "TERMINAL", "Board", "Status"]

# How `coded-mr run` tells rank 0, whose standard error is a pipe, of the terminal at its end: its columns.
TERMINAL = "CODED_MR_TERMINAL"

STAGES = ("map", "shuffle", "reduce")
_UNITS = {"map": "mappings", "shuffle": "packets", "reduce": "partitions"}
_LAYOUT = struct.Struct("<Bqqqq")

# A rank is named when it has done less than this part of what the median has.
_BEHIND = 0.75
# A rank that says nothing for so many seconds is named.
_SILENT = 10.0
_NAMED = 3


@dataclass(frozen=True)
class Status:
    """Say how far one rank is in one stage: units and bytes done, of how many; `bytes_total` 0: not known."""

    stage: str
    done: int
    total: int
    bytes_done: int = 0
    bytes_total: int = 0

    @property
    def fraction(self) -> float:
        """Return the part that is done, 1 when there is nothing to do."""
        if self.done >= self.total:
            return 1.0
        return self.bytes_done / self.bytes_total if self.bytes_total else self.done / self.total

    def pack(self) -> bytes:
        """Return it as a few bytes, always as many."""
        numbers = self.done, self.total, self.bytes_done, self.bytes_total
        return _LAYOUT.pack(STAGES.index(self.stage), *numbers)

    @classmethod
    def unpack(cls, raw: bytes) -> Status:
        """Return what `pack` packed."""
        stage, *numbers = _LAYOUT.unpack(raw)
        return cls(STAGES[stage], *numbers)


class Board:
    """Collect the statuses of ranks; times are seconds of one clock that starts with the work."""

    def __init__(self, hosts: list[str]) -> None:
        """Start with the host of each rank that works."""
        self._hosts = hosts
        self._last: dict[int, Status] = {}
        self._heard = dict.fromkeys(range(len(hosts)), 0.0)
        self._whole: dict[str, dict[int, Status]] = {stage: {} for stage in STAGES}
        self._began = {"map": 0.0}
        self._gone: set[int] = set()

    def hear(self, rank: int, status: Status, now: float) -> None:
        """Take what a rank says of itself."""
        self._heard[rank] = now
        self._last[rank] = status
        self._whole[status.stage][rank] = status
        self._began.setdefault(status.stage, now)

    def leave(self, rank: int) -> None:
        """Take note that a rank has done everything."""
        self._gone.add(rank)

    def line(self, now: float) -> str | None:
        """Return how far the stage is in which the last ranks are, or None when nothing is known."""
        working = [status for rank, status in self._last.items() if rank not in self._gone]
        if not working:
            return None
        stage = min((status.stage for status in working), key=STAGES.index)
        parts = self._parts(stage)
        done, total = (
            sum(values) for values in zip(*((p.done, p.total) for p in parts.values()), strict=True)
        )
        if not total:
            return None
        elapsed = now - self._began[stage]
        text = f"{stage} {self._percent(parts)}{self._left(parts, elapsed)}"
        text += f": {done:,} of {total:,} {_UNITS[stage]}"
        text += "".join(f", {part}" for part in self._speed(parts, elapsed))
        trouble = self._trouble(parts, now)
        return f"{text}; {'; '.join(trouble)}" if trouble else text

    def _parts(self, stage: str) -> dict[int, Status]:
        """Return the ranks' statuses in a stage; a rank that is beyond it has done all of it."""
        found = {}
        for rank, status in self._whole[stage].items():
            beyond = rank in self._gone or STAGES.index(self._last[rank].stage) > STAGES.index(stage)
            whole = Status(stage, status.total, status.total, status.bytes_total, status.bytes_total)
            found[rank] = whole if beyond else status
        return found

    @staticmethod
    def _percent(parts: dict[int, Status]) -> str:
        total = sum(part.bytes_total for part in parts.values())
        if total:
            fraction = sum(part.bytes_done for part in parts.values()) / total
        else:
            fraction = sum(part.done for part in parts.values()) / sum(part.total for part in parts.values())
        return f"{int(100 * fraction)}%"

    @staticmethod
    def _speed(parts: dict[int, Status], elapsed: float) -> Iterator[str]:
        done, total = (
            sum(getattr(p, name) for p in parts.values()) for name in ("bytes_done", "bytes_total")
        )
        yield f"{bytes_text(done)} of {bytes_text(total)}" if total else bytes_text(done)
        if elapsed > 0 and done:
            yield f"{bytes_text(done / elapsed)}/s"

    @staticmethod
    def _left(parts: dict[int, Status], elapsed: float) -> str:
        """Return the time until the slowest rank is through, at its rate so far."""
        least = min(part.fraction for part in parts.values())
        return f", {_clock(elapsed * (1 - least) / least)} left" if 0 < least < 1 else ""

    def _trouble(self, parts: dict[int, Status], now: float) -> list[str]:
        told = []
        fractions = {rank: part.fraction for rank, part in parts.items() if part.total}
        least = _BEHIND * statistics.median(fractions.values())
        behind = sorted((f, rank) for rank, f in fractions.items() if f < least)
        if behind:
            named = (f"{self._name(rank)} at {int(100 * f)}%" for f, rank in behind[:_NAMED])
            told.append(f"behind: {_listed(named, len(behind))}")
        silent = [
            rank for rank, heard in self._heard.items() if rank not in self._gone and now - heard > _SILENT
        ]
        if silent:
            names = (f"{self._name(rank)} for {now - self._heard[rank]:.0f} s" for rank in silent[:_NAMED])
            told.append(f"silent: {_listed(names, len(silent))}")
        return told

    def _name(self, rank: int) -> str:
        return f"rank {rank}" + (f" on {self._hosts[rank]}" if len(set(self._hosts)) > 1 else "")


def _listed(names: Iterator[str], count: int) -> str:
    return ", ".join(names) + (f" and {count - _NAMED} more" if count > _NAMED else "")


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
