"""The table: claims first, then every setting, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.network.claims import claims
from benchmarks.network.records import Link, Run
from benchmarks.network.settings import Setting
from benchmarks.network.summary import Row, Summary, summarise

__all__ = ["document"]

_HEAD = """# Coded against uncoded shuffles on emulated networks

Written by `python -m benchmarks.network` on {machine}; every run is a line of `network.jsonl`.

![](network.svg)

Every host is a set of namespaces with one interface, and room for two ranks: in plans (8+3) the 3 helpers
share hosts with solvers, unless there is a host for each. All hosts share the cores of this machine; links
are slow, that they and not the cores are the limit. Every result was compared with the one expected: {runs}
runs, none wrong.

* Times are seconds, of the slowest rank in each stage, medians ({rounds} of each); `total` is from the first
  map to the last reduce, with its least and most. `encode`, `decode` and what making `groups` took beyond
  the map are in the shuffle.
* `theory` is c_s times the load of the busiest link when a multicast crosses each link once; on the bus that
  is c_s L. c_s is the time of all intermediate bytes at the payload rate of MPI between two hosts, measured
  before the runs. `over` is how much longer the shuffle took.
* `gain` is how many times as long the better of the two uncoded rivals takes.
* `coded` bytes are what the theory counts; `wire` is what the hosts' interfaces sent, whole frames. Word
  count combines within a batch: the more batches a plan has, the more bytes there are to shuffle.
* With r as large as the number of hosts every host maps the whole input, and nothing travels.
* The planner chooses by calibration on this network, among all plans or those with a solver on each host;
  `predicted` is the total that it expects of each rival.
"""
_COLUMNS = (
    "rival", "gain", "predicted", "total", "map", "shuffle", "theory", "over", "reduce", "encode", "decode",
    "groups", "L", "coded MB", "wire MB",
)  # fmt: skip


def document(settings: Sequence[Setting], records: Sequence[Link | Run], machine: str) -> str:
    """Return the whole text."""
    summaries = summarise(settings, records)
    rows = [row for summary in summaries for row in summary.rows]
    runs = sum(row.rounds for row in rows)
    rounds = sorted({row.rounds for row in rows})
    text = "-".join(map(str, dict.fromkeys((rounds[0], rounds[-1])))) if rounds else "none"
    parts = [_HEAD.format(machine=machine, runs=runs, rounds=text)]
    parts += _claims(summaries)
    for summary in summaries:
        parts += _setting(summary)
    return "\n".join(parts) + "\n"


def _claims(summaries: Sequence[Summary]) -> Iterator[str]:
    found = claims(summaries)
    if found:
        yield "## What should be seen, and was\n"
        yield _line(("claim", "asked", "measured", "reached"))
        yield _line(("---",) * 4)
        for claim in found:
            yield _line((claim.text, claim.asked, claim.measured, "yes" if claim.reached else "**no**"))


def _setting(summary: Summary) -> Iterator[str]:
    rate = summary.rate
    yield f"\n## {summary.setting.name}\n"
    yield f"{summary.setting.title}; payload {rate * 8 / 1e6:.2f} Mbit/s.\n"
    yield _line(_COLUMNS)
    yield _line(("---", *("---:",) * (len(_COLUMNS) - 1)))
    for row in summary.rows:
        yield _line(_cells(summary, row))


def _cells(summary: Summary, row: Row) -> Iterator[str]:
    mark = "**" if row == summary.fastest else ""
    name = row.rival.name
    if row.rival.scheme is None:
        name += ": " + "; ".join(row.plans)
    gain = summary.gain(row)
    yield f"{mark}{name}{mark}"
    yield "" if gain is None else f"{mark}{gain:.2f}{mark}"
    yield "" if row.predicted is None else f"{row.predicted:.2f}"
    yield f"{row.total:.2f} ({row.least:.2f}–{row.most:.2f})"
    yield f"{row.map:.2f}"
    yield f"{row.shuffle:.2f}"
    yield f"{row.ideal:.2f}"
    yield f"{row.shuffle / row.ideal - 1:+.0%}" if row.ideal else ""
    yield from (f"{value:.3f}" for value in (row.reduce, row.encode, row.decode, row.groups))
    yield str(row.load)
    yield from (f"{value / 1e6:.2f}" for value in (row.coded, row.wire))


def _line(cells: Sequence[str] | Iterator[str]) -> str:
    return f"| {' | '.join(cells)} |"
