"""Several plans of one job beside each other: the numbers, a table of them, and the JSON.

The JSON object: "format" ("coded-mr-comparison/1"), "job", "partitions", "ranks", "rounds",
"implementation", "costs" (c_m, c_s, c_r in seconds); "plans", in the order in which they took turns, each
with "scheme", "s", "r", "load" and "bound" (exact, strings), "ratio" (load over bound, null without a bound),
"measured_load", "solvers", "helpers", "packets", "groups", "coded_bytes" (of which "padding_bytes" and
"header_bytes"), "wire_bytes", "interface_bytes" (null where hosts have no counters), all of the first round,
"transport", "intermediate_bytes" and, in seconds, "predicted" {map, shuffle, reduce, total}, "median" and
"rounds" (a list) of the same;
"fastest" and "planner", indices into "plans", "planner_excess", by how much of the fastest's total the
planner's choice is slower, and "planner_excess_held_out", the same without luck (see `Comparison`);
"impossible" and "same", what was asked for and did not become a plan of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from statistics import median
from typing import Any, NamedTuple

from coded_mr.text import counted
from coded_mr.theory.costs import Costs

__all__ = ["STAGES", "Comparison", "Entry", "Times", "short", "table"]

STAGES = ("map", "shuffle", "reduce")


class Times(NamedTuple):
    """Hold the seconds of the stages, each that of its slowest rank, and of everything."""

    map: float
    shuffle: float
    reduce: float
    total: float


@dataclass(frozen=True)
class Entry:
    """Hold one plan: what it is, what was predicted, and what every round measured.

    `load` L and `bound`, the least that Lemma 1 (Yu et al. 2017) allows for the placement, are exact and for
    values of equal size; `coded_bytes` counts each packet once, `wire_bytes` as the transport sent it, and
    `interface_bytes` is what the hosts' network interfaces sent meanwhile, None on one host. Of the coded
    bytes `padding_bytes` are there because values differ in length, and `header_bytes` are no values.
    """

    scheme: str
    s: int
    r: Fraction
    solvers: int
    helpers: int
    packets: int
    groups: int
    load: Fraction
    bound: Fraction
    predicted: Times
    measured: tuple[Times, ...]
    coded_bytes: int
    padding_bytes: int
    header_bytes: int
    wire_bytes: int
    intermediate_bytes: int
    transport: str
    interface_bytes: int | None = None

    @property
    def name(self) -> str:
        """Return the scheme with s, where it has one."""
        return self.scheme if self.s == 1 else f"{self.scheme} s={self.s}"

    @property
    def team(self) -> str:
        """Return the numbers of solvers and helpers, such as 3+2."""
        return f"{self.solvers}+{self.helpers}"

    @property
    def label(self) -> str:
        """Return what tells this plan from the others."""
        return f"{self.name} r={short(self.r)} ({self.team})"

    @property
    def median(self) -> Times:
        """Return the median over the rounds, of each time by itself."""
        return Times(*map(median, zip(*self.measured, strict=True)))

    @property
    def least(self) -> Times:
        """Return the least over the rounds, of each time by itself."""
        return Times(*map(min, zip(*self.measured, strict=True)))

    @property
    def most(self) -> Times:
        """Return the most over the rounds, of each time by itself."""
        return Times(*map(max, zip(*self.measured, strict=True)))

    @property
    def measured_load(self) -> float:
        """Return coded bytes over all intermediate bytes."""
        return self.coded_bytes / self.intermediate_bytes if self.intermediate_bytes else 0.0

    @property
    def ratio(self) -> float | None:
        """Return load over bound: 1 is optimal for the placement. None when the bound alone is 0."""
        if not self.bound:
            return None if self.load else 1.0
        return float(self.load / self.bound)


@dataclass(frozen=True)
class Comparison:
    """Hold plans of one job that took turns on the same ranks; `choice` is the planner's, by index."""

    job: str
    partitions: int
    ranks: int
    implementation: str
    costs: Costs
    entries: tuple[Entry, ...]
    choice: int
    impossible: tuple[str, ...] = ()
    same: tuple[str, ...] = ()

    @property
    def fastest(self) -> int:
        """Return the index of the plan with the least median total; the first of equals."""
        return min(range(len(self.entries)), key=lambda index: self.entries[index].median.total)

    @property
    def excess(self) -> float:
        """Return by how much of the fastest plan's time the planner's choice is slower: 0 if it is it."""
        least = self.entries[self.fastest].median.total
        return self.entries[self.choice].median.total / least - 1 if least else 0.0

    @property
    def excess_held_out(self) -> float | None:
        """Return the same without the luck of the fastest: the median over the rounds.

        In each round the planner's choice is compared with the plan that was fastest in the others, whose
        median totals say nothing of this one. None with fewer than three rounds.
        """
        if self.rounds < 3:
            return None
        totals = [[times.total for times in entry.measured] for entry in self.entries]
        found = []
        for held in range(self.rounds):
            others = [median(one[:held] + one[held + 1 :]) for one in totals]
            fastest = totals[others.index(min(others))][held]
            found.append(totals[self.choice][held] / fastest - 1 if fastest else 0.0)
        return median(found)

    @property
    def rounds(self) -> int:
        """Return how many times each plan was carried out."""
        return len(self.entries[0].measured)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, JSON-ready; this module's description says how."""
        costs = {"c_m": self.costs.map, "c_s": self.costs.shuffle, "c_r": self.costs.reduce}
        return {
            "format": "coded-mr-comparison/1",
            "job": self.job,
            "partitions": self.partitions,
            "ranks": self.ranks,
            "rounds": self.rounds,
            "implementation": self.implementation,
            "costs": {name: float(value) for name, value in costs.items()},
            "plans": [_document(entry) for entry in self.entries],
            "fastest": self.fastest,
            "planner": self.choice,
            "planner_excess": self.excess,
            "planner_excess_held_out": self.excess_held_out,
            "impossible": list(self.impossible),
            "same": list(self.same),
        }


def _document(entry: Entry) -> dict[str, Any]:
    return {
        "scheme": entry.scheme,
        "s": entry.s,
        "r": str(entry.r),
        "solvers": entry.solvers,
        "helpers": entry.helpers,
        "packets": entry.packets,
        "groups": entry.groups,
        "load": str(entry.load),
        "bound": str(entry.bound),
        "ratio": entry.ratio,
        "measured_load": entry.measured_load,
        "coded_bytes": entry.coded_bytes,
        "padding_bytes": entry.padding_bytes,
        "header_bytes": entry.header_bytes,
        "wire_bytes": entry.wire_bytes,
        "interface_bytes": entry.interface_bytes,
        "intermediate_bytes": entry.intermediate_bytes,
        "transport": entry.transport,
        "predicted": entry.predicted._asdict(),
        "median": entry.median._asdict(),
        "rounds": [times._asdict() for times in entry.measured],
    }


def table(comparison: Comparison) -> str:
    """Return a comparison for people: times, bytes, and what follows from them."""
    parts = (_heading, _times_table, _bytes_table, _verdict)
    return "\n\n".join("\n".join(part(comparison)) for part in parts)


def _heading(comparison: Comparison) -> Iterator[str]:
    plans, ranks = counted(len(comparison.entries), "plan"), counted(comparison.ranks, "rank")
    parts, rounds = counted(comparison.partitions, "partition"), counted(comparison.rounds, "round")
    yield f"{comparison.job}: {plans} on {ranks}, {parts}, {rounds}; {comparison.implementation}"


def _columns(comparison: Comparison, index: int) -> str:
    """Return the first columns of every table: the mark of the fastest, and which plan it is."""
    entry = comparison.entries[index]
    mark = "*" if index == comparison.fastest else " "
    return f"{mark} {entry.name:<{_width(comparison)}} {short(entry.r):>5} {entry.team:>5}"


def _header(comparison: Comparison) -> str:
    return f"  {'scheme':<{_width(comparison)}} {'r':>5} {'S+H':>5}"


def _width(comparison: Comparison) -> int:
    return max(len("scheme"), *(len(entry.name) for entry in comparison.entries))


def short(r: Fraction) -> str:
    """Return a computation load in at most 5 characters, below 10: exactly, or with three decimals."""
    return str(r) if len(str(r)) <= 5 else f"{float(r):.3f}"


def _times_table(comparison: Comparison) -> Iterator[str]:
    head = _header(comparison)
    names = " ".join(f"{name:>7}" for name in Times._fields)
    wide = " ".join(f"{name:>12}" for name in Times._fields)
    measured = f"measured, median ({'least..most' if comparison.rounds > 1 else 'one round'})"
    yield f"{'seconds':<{len(head)}}  {'predicted':^{len(names)}}  {measured:^{len(wide)}}".rstrip()
    yield f"{head}  {names}  {wide}"
    for index, entry in enumerate(comparison.entries):
        predicted = " ".join(f"{_seconds(value):>7}" for value in entry.predicted)
        yield (
            f"{_columns(comparison, index)}  {predicted}  "
            + " ".join(f"{_seconds(value):>12}" for value in entry.median)
        )
        if comparison.rounds > 1:
            spread = zip(entry.least, entry.most, strict=True)
            yield " " * (len(head) + 2 + len(names) + 2) + " ".join(
                f"{f'{_seconds(least)}..{_seconds(most)}':>12}" for least, most in spread
            )


def _seconds(value: float) -> str:
    """Return seconds in at most 5 characters, below 10,000."""
    for limit, digits in ((10, 3), (100, 2), (1000, 1)):
        if value < limit:
            return f"{value:.{digits}f}"
    return f"{value:.0f}"


def _bytes_table(comparison: Comparison) -> Iterator[str]:
    counted_there = any(entry.interface_bytes is not None for entry in comparison.entries)
    interfaces = f" {'interfaces':>15}" if counted_there else ""
    yield (
        f"{_header(comparison)}  {'coded bytes':>15} {'wire bytes':>15}{interfaces} {'by':>7} "
        f"{'packets':>7} {'groups':>6}  {'load':>6} {'counted':>7} {'Lemma 1':>7} {'ratio':>6}"
    )
    for index, entry in enumerate(comparison.entries):
        ratio = "-" if entry.ratio is None else f"{entry.ratio:.3f}"
        transport = entry.transport if entry.packets else "-"
        if counted_there:
            sent = "-" if entry.interface_bytes is None else f"{entry.interface_bytes:,}"
            interfaces = f" {sent:>15}"
        yield (
            f"{_columns(comparison, index)}  {entry.coded_bytes:>15,} {entry.wire_bytes:>15,}{interfaces} "
            f"{transport:>7} "
            f"{entry.packets:>7} {entry.groups:>6}  {float(entry.load):>6.4f} {entry.measured_load:>7.4f} "
            f"{float(entry.bound):>7.4f} {ratio:>6}"
        )


def _verdict(comparison: Comparison) -> Iterator[str]:
    fastest, chosen = (comparison.entries[index] for index in (comparison.fastest, comparison.choice))
    yield f"fastest    {fastest.label}: {_seconds(fastest.median.total)} s"
    slower = (
        f"{comparison.excess:.1%} slower than the fastest" if chosen is not fastest else "the fastest, 0 %"
    )
    held_out = comparison.excess_held_out
    if chosen is not fastest and held_out is not None:
        slower += f", and {held_out:+.1%} beside what was fastest in the other rounds, round by round"
    yield (
        f"planner    chooses {chosen.label} for these ranks: predicted {_seconds(chosen.predicted.total)} s, "
        f"measured {_seconds(chosen.median.total)} s: {slower}"
    )
    if comparison.impossible:
        yield f"not here   {'; '.join(comparison.impossible)}: no such plan for these ranks and partitions"
    if comparison.same:
        yield f"the same   {'; '.join(comparison.same)}"
    both = "max(map, shuffle)" if comparison.implementation == "parallel" else "map + shuffle"
    yield (
        "times      a stage: its slowest rank; total, measured: from the start of the first map to the end\n"
        f"           of the last reduce, waits included; predicted: {both} + reduce. S+H: solvers, helpers"
    )
    yield (
        "load       coded over all intermediate bytes, as planned, and as counted with padding and headers;\n"
        "           ratio: planned over the least that any shuffle needs for this placement (Lemma 1)"
    )
    if any(entry.interface_bytes is not None for entry in comparison.entries):
        yield "interfaces bytes that the hosts' network interfaces sent during the shuffle of the first round"
