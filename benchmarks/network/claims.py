"""What should be seen, beside what was: each claim with its number, reached or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from benchmarks.network.settings import SETTINGS
from benchmarks.network.summary import Row, Summary

__all__ = ["Claim", "claims"]

# The best published, beside one sender at a time: resolvable designs (Konstantinidis, Ramamoorthy 2020).
_PUBLISHED = 4.69


@dataclass(frozen=True)
class Claim:
    """Say what was asked, what was measured, and whether that is enough."""

    text: str
    asked: str
    measured: str
    reached: bool


def claims(summaries: Sequence[Summary]) -> list[Claim]:
    """Return the claims about which something was measured, in settings of full size."""
    found: list[Claim] = []
    measured = [summary for summary in summaries if summary.setting in SETTINGS]
    for summary in measured:
        name = summary.setting.name
        if name == "bus-8-terasort":
            found += _gains(summary)
            found += _shuffles(summary)
            found += _groups(summary)
            found += _losses(summary)
    for summary in measured:
        found += _choices(summary)
    return found


def _helped(summary: Summary, r: int, transport: str = "ip") -> Row | None:
    rivals = (row for row in summary.rows if row.rival.scheme == "solver-helper" and not row.rival.loss)
    return next((row for row in rivals if (row.rival.r, row.rival.transport) == (r, transport)), None)


def _gains(summary: Summary) -> Iterator[Claim]:
    """Yield the total beside that of the best uncoded run, at r = 2, 3 and the best r that still sends."""
    for r, least in ((2, 3.0), (3, 4.5)):
        row = _helped(summary, r)
        gain = None if row is None else summary.gain(row)
        if gain is not None:
            text = f"shared bus, 8 hosts, TeraSort: solver-helper r={r} by `ip` beside the best uncoded run"
            yield Claim(text, f"{least:g} times faster", f"{gain:.2f} times", gain >= least)
    sending = [row for r in range(1, summary.setting.hosts) if (row := _helped(summary, r))]
    if sending and summary.uncoded is not None:
        best = min(sending, key=lambda row: row.total)
        gain = summary.uncoded.total / best.total
        text = f"the same at the best r below 8, which is {best.rival.r}"
        yield Claim(text, f"beyond {_PUBLISHED} times", f"{gain:.2f} times", gain > _PUBLISHED)


def _shuffles(summary: Summary) -> Iterator[Claim]:
    for r in (1, 2, 3, 4):
        row = _helped(summary, r)
        if row is not None:
            over = row.shuffle / row.ideal - 1
            text = f"the same: shuffle over c_s (Q-r)/(Q(r+1)), r={r}"
            yield Claim(text, "within 10 %", f"{over:+.1%}", over <= 0.1)


def _groups(summary: Summary) -> Iterator[Claim]:
    row = _helped(summary, 3, "groups")
    if row is not None:
        share = row.groups / row.total
        text = "the same by `groups`, r=3: setting the groups up, beyond the map, of the total"
        yield Claim(text, "below 2 %", f"{share:.1%}", share < 0.02)


def _losses(summary: Summary) -> Iterator[Claim]:
    for row in summary.rows:
        whole = summary.row(replace(row.rival, loss=0.0)) if row.rival.loss else None
        if whole is not None:
            cost = row.total / whole.total
            text = f"the same, r={row.rival.r}, each receiver losing {row.rival.loss:.0%} of the datagrams"
            yield Claim(text, "the right result", f"right, {cost:.2f} times as long", True)


def _choices(summary: Summary) -> Iterator[Claim]:
    """Yield how far each choice of the planner is from the fastest rival that was measured."""
    fastest = summary.fastest
    for row in summary.rows:
        if row.rival.scheme is None and fastest is not None:
            over = row.total / fastest.total - 1
            text = (
                f"{summary.setting.name}: {row.rival.name}, {'; '.join(row.plans)}, beside the fastest rival"
            )
            measured = f"{over:+.1%} ({fastest.rival.name})"
            yield Claim(text, "within 5 %", measured, over <= 0.05)
