"""The runs of each rival as one row: medians, spread, and what the theory says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median

from benchmarks.network.records import Link, Run
from benchmarks.network.settings import Rival, Setting

__all__ = ["Row", "Summary", "summarise"]


@dataclass(frozen=True)
class Row:
    """Hold a rival's medians; `ideal` is the shuffle in theory: c_s times the load of the busiest link."""

    rival: Rival
    plans: tuple[str, ...]
    rounds: int
    predicted: float | None
    total: float
    least: float
    most: float
    map: float
    shuffle: float
    reduce: float
    encode: float
    decode: float
    groups: float
    ideal: float
    load: Fraction
    coded: float
    intermediate: float
    wire: float

    @property
    def waiting(self) -> float:
        """Return what of the total is in no stage of the slowest rank."""
        return max(self.total - self.map - self.shuffle - self.reduce, 0.0)


@dataclass(frozen=True)
class Summary:
    """Hold a setting's rows, in the order of its rivals; `rate` of the link in payload bytes a second."""

    setting: Setting
    rate: float
    rows: tuple[Row, ...]

    def row(self, rival: Rival) -> Row | None:
        """Return a rival's row, if it was measured."""
        return next((row for row in self.rows if row.rival == rival), None)

    @property
    def uncoded(self) -> Row | None:
        """Return the faster of the uncoded rivals."""
        return min((row for row in self.rows if row.rival.scheme == "uncoded"), key=_total, default=None)

    @property
    def fastest(self) -> Row | None:
        """Return the fastest of the rivals that are not the planner's choice."""
        return min((row for row in self.rows if row.rival.scheme is not None), key=_total, default=None)

    def gain(self, row: Row) -> float | None:
        """Return how many times as long the best uncoded rival takes."""
        return None if self.uncoded is None else self.uncoded.total / row.total


def _total(row: Row) -> float:
    return row.total


def summarise(settings: Sequence[Setting], records: Sequence[Link | Run]) -> list[Summary]:
    """Return a summary of every setting of which something was measured."""
    found = []
    for setting in settings:
        own = [record for record in records if record.setting == setting.title]
        rates = [record.rate for record in own if isinstance(record, Link)]
        runs = [record for record in own if isinstance(record, Run)]
        if rates and runs:
            rate = median(rates)
            rows = (_row(rival, runs, rate) for rival in setting.rivals)
            found.append(Summary(setting, rate, tuple(row for row in rows if row is not None)))
    return found


def _row(rival: Rival, every: Sequence[Run], rate: float) -> Row | None:
    runs = [run for run in every if run.rival == rival.name]
    if not runs:
        return None

    def middle(field: str) -> float:
        return median(getattr(run, field) for run in runs)

    totals = [run.total for run in runs]
    predicted = [run.predicted for run in runs if run.predicted is not None]
    return Row(
        rival=rival,
        plans=tuple(dict.fromkeys(f"{run.plan} ({run.transport})" for run in runs)),
        rounds=len(runs),
        predicted=median(predicted) if predicted else None,
        total=median(totals),
        least=min(totals),
        most=max(totals),
        map=middle("map"),
        shuffle=middle("shuffle"),
        reduce=middle("reduce"),
        encode=middle("encode"),
        decode=middle("decode"),
        groups=middle("groups"),
        ideal=median(float(Fraction(run.busiest)) * run.intermediate / rate for run in runs),
        load=Fraction(runs[-1].load),
        coded=middle("coded"),
        intermediate=middle("intermediate"),
        wire=middle("wire"),
    )
