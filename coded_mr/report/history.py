"""Runs beside each other: what changed, as ratios to the first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from coded_mr.report.document import Run
from coded_mr.report.page_parts import (
    Column,
    document,
    element,
    name,
    ratio_text,
    seconds_text,
    section,
    table,
)
from coded_mr.text import bytes_text, counted, fraction_text

__all__ = ["Row", "build_history_page", "compare_runs", "differences", "history_text"]


@dataclass(frozen=True)
class Row:
    """Hold one quantity of all runs, as text, and its ratios to the first run's, of the second run and on."""

    quantity: str
    values: tuple[str, ...]
    ratios: tuple[str, ...]


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _number(value: float) -> str:
    return f"{value:.4f}"


_QUANTITIES: tuple[tuple[str, Callable[[float], str], Callable[[Run], float]], ...] = (
    ("total time", seconds_text, lambda run: run.measured.total_seconds),
    ("map", seconds_text, lambda run: run.measured.map_seconds),
    ("shuffle", seconds_text, lambda run: run.measured.shuffle_seconds),
    ("reduce", seconds_text, lambda run: run.measured.reduce_seconds),
    ("predicted time", seconds_text, lambda run: run.predicted.total_seconds),
    ("computation load r", _number, lambda run: float(Fraction(run.plan.r))),
    ("communication load", _number, lambda run: run.measured.load),
    ("least load", _number, lambda run: float(Fraction(run.predicted.bound))),
    ("coded bytes", bytes_text, lambda run: run.measured.coded_bytes),
    ("padding", bytes_text, lambda run: run.measured.padding_bytes),
    ("wire bytes", bytes_text, lambda run: run.measured.wire_bytes),
    ("intermediate values", bytes_text, lambda run: run.measured.intermediate_bytes),
    ("packets", _count, lambda run: run.plan.packets),
    ("largest peak of a rank", bytes_text, lambda run: max(rank.peak_bytes for rank in run.ranks)),
    ("input files", _count, lambda run: run.counts.files),
    ("input bytes", bytes_text, lambda run: run.counts.bytes_in),
    ("records mapped", _count, lambda run: run.counts.records_mapped),
    ("records of output", _count, lambda run: run.counts.records_out),
    ("bytes of output", bytes_text, lambda run: run.counts.bytes_out),
)


def compare_runs(runs: Sequence[Run]) -> list[Row]:
    """Return every quantity of the runs; at least two."""
    return [_row(quantity, show, [measure(run) for run in runs]) for quantity, show, measure in _QUANTITIES]


def _row(quantity: str, show: Callable[[float], str], values: Sequence[float]) -> Row:
    ratios = tuple(ratio_text(value, values[0]) for value in values[1:])
    return Row(quantity, tuple(map(show, values)), ratios)


def differences(runs: Sequence[Run]) -> list[str]:
    """Return what makes the runs hard to compare: other jobs, input, ranks, software or hosts."""
    return list(_differences(runs))


def _differences(runs: Sequence[Run]) -> Iterator[str]:
    facts: tuple[tuple[str, Callable[[Run], str]], ...] = (
        ("jobs", lambda run: run.job),
        ("parameters", lambda run: ", ".join(f"{each} = {value}" for each, value in run.parameters.items())),
        ("inputs", lambda run: f"{run.counts.bytes_in:,} bytes"),
        ("numbers of partitions", lambda run: str(run.plan.partitions)),
        ("numbers of ranks", lambda run: str(len(run.ranks))),
        ("hosts", lambda run: ", ".join(sorted(run.hosts))),
    )
    for what, fact in facts:
        found = [fact(run) for run in runs]
        if len(set(found)) > 1:
            yield f"different {what}: {'; '.join(found)}"
    for software in runs[0].versions:
        found = [run.versions.get(software, "unknown") for run in runs]
        if len(set(found)) > 1:
            yield f"different versions of {software}: {'; '.join(found)}"


def plan_text(run: Run) -> str:
    """Return the plan of a run in a few words."""
    plan = run.plan
    team = f"{plan.solvers}+{plan.helpers} ranks"
    return f"{plan.scheme}, r={fraction_text(Fraction(plan.r))}, {team}, {run.implementation}"


def history_text(names: Sequence[str], runs: Sequence[Run]) -> str:
    """Return the comparison as a table of plain text; `names` are the files of the runs."""
    marks = [_letter(index) for index in range(len(runs))]
    head = ["", *marks, *(f"{mark}/{marks[0]}" for mark in marks[1:])]
    lines = [head, *([row.quantity, *row.values, *row.ratios] for row in compare_runs(runs))]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    shown = [
        f"{line[0]:<{widths[0]}}" + "".join(f"  {c:>{w}}" for c, w in zip(line[1:], widths[1:], strict=True))
        for line in lines
    ]
    legend = [
        f"{mark}  {_plain(path)}: {plan_text(run)}"
        for mark, path, run in zip(marks, names, runs, strict=True)
    ]
    notes = [f"note: {_plain(note)}" for note in differences(runs)]
    return "\n".join([*legend, "", *shown, *([""] if notes else []), *notes])


def build_history_page(names: Sequence[str], runs: Sequence[Run]) -> str:
    """Return the comparison as a page, as HTML."""
    marks = [_letter(index) for index in range(len(runs))]
    described = [
        (mark, name(path), name(run.job), plan_text(run))
        for mark, path, run in zip(marks, names, runs, strict=True)
    ]
    heads = [Column(title, text=True) for title in ("run", "report", "job", "plan")]
    notes = differences(runs)
    columns = [Column("quantity", text=True), *map(Column, marks)]
    columns += [Column(f"{mark} / {marks[0]}") for mark in marks[1:]]
    rows = [(row.quantity, *row.values, *row.ratios) for row in compare_runs(runs)]
    return document(
        f"Comparison of {counted(len(runs), 'run')}",
        (("runs", "Runs"), ("quantities", "Quantities")),
        element("h1", f"Comparison of {counted(len(runs), 'run')}"),
        section(
            "runs",
            "Runs",
            table("The runs", heads, described),
            element("ul", *(element("li", note) for note in notes)) if notes else None,
        ),
        section("quantities", "Quantities", table(f"All quantities, and over run {marks[0]}", columns, rows)),
    )


def _letter(index: int) -> str:
    """Return A, B, ..., Z, A2, B2, ..."""
    turn, place = divmod(index, 26)
    return chr(ord("A") + place) + (str(turn + 1) if turn else "")


def _plain(text: str) -> str:
    """Return text that a terminal shows and does not obey."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
