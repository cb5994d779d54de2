"""What a simulation shows: a table for people, one JSON object for programs.

The object: "format" ("coded-mr-simulation/1"), "implementation", "by" ("packets" or "loads"), "repeat";
"machine" (c_m, c_s, c_r, network, multicast, overhead, noise, speeds, seed; exact numbers as strings);
"rows", each with "partitions", "r" (exact, a string), "helpers" and "ranks" (null in the limit of endless
helpers), "coded" and "uncoded" (seconds: map, shuffle, reduce, total are means over the repetitions;
deviation, least and most are of the totals; peak: the fraction of the files that a solver maps, exact, a
string) and "gain", uncoded over coded. Over r: "best_r", the row with the least coded total, and "winner" of
the least totals ("coded", "uncoded" or "neither"), else null. Over Q: "exponents" {"coded", "uncoded"}, the
powers of Q like which total without reduce falls, else null.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import isclose
from typing import Any

from coded_mr.simulate.machine import Machine
from coded_mr.simulate.study import By, Row, Study, Summary, exponent
from coded_mr.text import counted

__all__ = ["Result", "document", "text"]


@dataclass(frozen=True)
class Result:
    """Hold one or more rows: over r for one study, or over Q for several that differ in Q only."""

    study: Study
    rows: list[Row]
    by: By
    over_q: bool = False

    @property
    def best(self) -> Row:
        """Return the row with the least coded total."""
        return min(self.rows, key=lambda row: row.coded_times.total)

    @property
    def rival(self) -> Row:
        """Return the row with the least uncoded total."""
        return min(self.rows, key=lambda row: row.uncoded_times.total)

    @property
    def gain(self) -> float:
        """Return the least uncoded total over the least coded one, 1 for a tie but for rounding."""
        gain = self.rival.uncoded_times.total / self.best.coded_times.total
        return 1.0 if isclose(gain, 1, rel_tol=1e-12) else gain

    @property
    def winner(self) -> str:
        """Return "coded", "uncoded" or, for a tie, "neither"."""
        return "neither" if self.gain == 1 else "coded" if self.gain > 1 else "uncoded"

    @property
    def exponents(self) -> dict[str, float] | None:
        """Return the powers of Q like which total minus reduce falls; None unless there are several Q."""
        sizes = [row.coded.partitions for row in self.rows]
        if not self.over_q or len(set(sizes)) < 2:
            return None
        times = {"coded": [r.coded_times for r in self.rows], "uncoded": [r.uncoded_times for r in self.rows]}
        return {
            kind: exponent([(Q, t.total - t.reduce) for Q, t in zip(sizes, found, strict=True)])
            for kind, found in times.items()
        }


def document(result: Result) -> dict[str, Any]:
    """Return what the module's description says, ready for JSON."""
    return {
        "format": "coded-mr-simulation/1",
        "implementation": result.study.implementation,
        "by": result.by,
        "repeat": result.study.repeat,
        "machine": _machine(result.study.machine),
        "rows": [_row(row) for row in result.rows],
        "best_r": None if result.over_q else str(result.best.r),
        "winner": None if result.over_q else result.winner,
        "exponents": result.exponents,
    }


def _machine(machine: Machine) -> dict[str, Any]:
    linear = machine.multicast == "linear"
    return {
        "c_m": str(machine.costs.map),
        "c_s": str(machine.costs.shuffle),
        "c_r": str(machine.costs.reduce),
        "network": machine.network,
        "multicast": "linear" if linear else [str(beta) for beta in machine.multicast],
        "overhead": str(machine.overhead),
        "noise": {"distribution": machine.noise.distribution, "coefficient": machine.noise.coefficient},
        "speeds": [str(speed) for speed in machine.speeds],
        "seed": machine.noise.seed,
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "partitions": row.coded.partitions,
        "r": str(row.r),
        "helpers": row.coded.helpers,
        "ranks": row.coded.ranks,
        "coded": row.coded_times._asdict() | {"peak": str(row.coded.solver_share)},
        "uncoded": row.uncoded_times._asdict() | {"peak": str(row.uncoded.solver_share)},
        "gain": row.gain,
    }


def text(result: Result) -> str:
    """Return the table with a heading, and what it says."""
    return "\n".join([*_heading(result), "", *_table(result), "", *_verdict(result)]).rstrip()


def _heading(result: Result) -> Iterator[str]:
    study, machine = result.study, result.study.machine
    costs, noise = machine.costs, machine.noise
    given = "" if result.over_q else f"Q = {study.partitions} partitions; "
    yield (
        f"{given}c_m = {costs.map}, c_s = {costs.shuffle}, c_r = {costs.reduce}; {study.implementation} "
        f"implementation, simulated by {result.by}"
    )
    beta = machine.multicast
    yield "  " + "; ".join(
        [
            "one shared link"
            if machine.network == "shared"
            else "a port to send and one to receive for each rank",
            f"multicast beta(j) = {'j' if beta == 'linear' else ', '.join(map(str, beta))}",
            *([f"{machine.overhead} s a packet"] if machine.overhead else []),
            *([f"{counted(len(machine.speeds), 'map speed')} given"] if machine.speeds else []),
        ]
    )
    if noise.coefficient:
        yield (
            f"  {noise.distribution} noise of {noise.coefficient:g} on map times, seed {noise.seed}: means "
            f"of {counted(study.repeat, 'repetition')}, and standard deviations"
        )


def _table(result: Result) -> Iterator[str]:
    scatters = bool(result.study.machine.noise.coefficient)
    spread = f" {'+-':>9}" if scatters else ""
    columns = f"{'map':>9} {'shuffle':>9} {'T':>9}{spread}"
    first = f"{'Q':>6} " if result.over_q else ""
    yield f"  {first}{'r':>9} {'K':>7} {columns}  uncoded: {columns} {'gain':>6}"
    for row in result.rows:
        mark = "*" if row is result.best and not result.over_q else " "
        first = f"{row.coded.partitions:>6} " if result.over_q else ""
        ranks = "-" if row.coded.ranks is None else row.coded.ranks
        yield (
            f"{mark} {first}{_short(row.r):>9} {ranks:>7} {_times(row.coded_times, scatters)}           "
            f"{_times(row.uncoded_times, scatters)} {row.gain:>6.3g}"
        )


def _short(r: Fraction) -> str:
    exact = str(r)
    return exact if len(exact) <= 9 else f"{float(r):.6g}"


def _times(times: Summary, scatters: bool) -> str:
    shown = [times.map, times.shuffle, times.total, *([times.deviation] if scatters else [])]
    return " ".join(f"{value:>9.4g}" for value in shown)


def _verdict(result: Result) -> Iterator[str]:
    if result.over_q:
        if result.exponents is not None:
            coded, uncoded = result.exponents.values()
            yield f"T without reduce goes like Q^{coded:.3f} coded, like Q^{uncoded:.3f} uncoded"
        return
    verdict = {
        "neither": "coding gains nothing",
        "coded": f"coding wins, {result.gain:.3g} times as fast",
        "uncoded": f"uncoded wins, {1 / result.gain:.3g} times as fast",
    }
    best, rival = result.best, result.rival
    yield (
        f"coded T = {best.coded_times.total:.6g} at r = {_short(best.r)}, "
        f"uncoded T = {rival.uncoded_times.total:.6g}: {verdict[result.winner]}"
    )
