"""What was measured, as lines of JSON: appended run by run, read back to go on or to make the table."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

__all__ = ["Link", "Run", "append", "forget", "load"]


@dataclass(frozen=True)
class Link:
    """Hold the payload rate between two hosts of a setting, in bytes a second, as MPI gets it."""

    setting: str
    rate: float


@dataclass(frozen=True)
class Run:
    """Hold one checked run of a rival; bytes, and seconds.

    map, shuffle, reduce  of the slowest rank; `encode`, `decode` and `groups` are within the shuffle
    total                 from the first map to the last reduce, waiting included
    load                  the plan's formula, an exact fraction
    busiest               what the busiest link carries in theory, over all intermediate bytes, if a multicast
                          crosses each link once; on a bus that is the load
    wire                  bytes that the hosts' interfaces sent, frames with their headers
    plan                  what was carried out
    predicted             the total, by the planner's calibration; None where there was none
    """

    setting: str
    rival: str
    round: int
    plan: str
    transport: str
    predicted: float | None
    total: float
    map: float
    shuffle: float
    reduce: float
    encode: float
    decode: float
    groups: float
    load: str
    busiest: str
    coded: int
    intermediate: int
    wire: int
    repairs: int


_KINDS: dict[str, type[Link] | type[Run]] = {"link": Link, "run": Run}


def append(path: Path, found: Link | Run) -> None:
    """Add a line."""
    kind = next(name for name, cls in _KINDS.items() if isinstance(found, cls))
    with path.open("a") as file:
        file.write(json.dumps({"kind": kind, **asdict(found)}) + "\n")


def forget(path: Path, settings: Collection[str]) -> None:
    """Drop what was measured of settings, by their titles."""
    kept = [record for record in load(path) if record.setting not in settings]
    path.unlink(missing_ok=True)
    for record in kept:
        append(path, record)


def load(path: Path) -> list[Link | Run]:
    """Return all lines, in order; none when there is no file."""
    return list(_read(path)) if path.exists() else []


def _read(path: Path) -> Iterator[Link | Run]:
    for line in path.read_text().splitlines():
        fields: dict[str, Any] = json.loads(line)
        yield _KINDS[fields.pop("kind")](**fields)
