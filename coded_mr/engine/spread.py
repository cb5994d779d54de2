"""How evenly ranks share something: its spread and histogram over the ranks that take part."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from coded_mr.engine.conservation import RankCount

__all__ = ["spread", "spreads"]

_BINS = 8


def _stage(name: str) -> Callable[[RankCount], float]:
    return lambda count: sum(stage.seconds for stage in count.stages if stage.name == name)


def _waiting(count: RankCount) -> float:
    return sum(stage.seconds for stage in count.stages if stage.name.startswith("wait"))


# What is told of whom: all ranks of the plan, or only those that reduce.
_OF_ALL: dict[str, Callable[[RankCount], float]] = {
    "bytes_in": lambda count: count.bytes_in,
    "records_mapped": lambda count: count.records,
    "map_seconds": _stage("map"),
    "shuffle_seconds": _stage("shuffle"),
    "waiting_seconds": _waiting,
    "sent_bytes": lambda count: count.traffic.sent_payload + count.traffic.sent_header,
    "peak_bytes": lambda count: count.peak_bytes,
}
_OF_SOLVERS: dict[str, Callable[[RankCount], float]] = {
    "received_bytes": lambda count: count.traffic.received,
    "reduce_seconds": _stage("reduce"),
    "records_out": lambda count: count.records_out,
}


def spreads(ranks: Sequence[RankCount], roles: Mapping[int, str]) -> dict[str, Any]:
    """Return the spread of each measure over the ranks that have a part in it; `roles` is by rank."""
    return dict(_spreads(ranks, roles))


def _spreads(ranks: Sequence[RankCount], roles: Mapping[int, str]) -> Iterator[tuple[str, Any]]:
    for measures, wanted in ((_OF_ALL, ("solver", "helper")), (_OF_SOLVERS, ("solver",))):
        chosen = [count for count in ranks if roles[count.rank] in wanted]
        for name, measure in measures.items():
            yield name, spread([measure(count) for count in chosen])


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Return least, median, mean and most of some numbers, most over mean, and a histogram.

    `imbalance` is 1 when all are equal (or all 0). The bins are of equal width from least to most, the last
    one with its upper end; there is one bin when all are equal.
    """
    least, most, mean = min(values), max(values), statistics.fmean(values)
    bins = _BINS if most > least else 1
    counts = [0] * bins
    for value in values:
        counts[min(int((value - least) / (most - least) * bins), bins - 1) if most > least else 0] += 1
    return {
        "least": least,
        "median": statistics.median(values),
        "mean": mean,
        "most": most,
        "imbalance": most / mean if mean else 1.0,
        "histogram": counts,
    }
