"""A run as one page that needs nothing else: no script, no network."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from coded_mr.report.document import Candidate, Run
from coded_mr.report.lanes import draw_lanes, key
from coded_mr.report.page_parts import (
    Column,
    Markup,
    bar,
    definitions,
    document,
    element,
    name,
    ratio_text,
    seconds_text,
    section,
    table,
)
from coded_mr.report.page_ranks import STAGES, balance, ranks, software
from coded_mr.text import bytes_text, counted, fraction_text

__all__ = ["build_page"]

_SECTIONS = (
    ("timeline", "Timeline"),
    ("times", "Predicted and measured"),
    ("load", "Load"),
    ("planner", "Planner"),
    ("balance", "Balance"),
    ("counts", "Counts"),
    ("ranks", "Ranks"),
    ("software", "Job, software and hosts"),
)


def build_page(run: Run) -> str:
    """Return the page of a run, as HTML."""
    parts = (_timeline, _times, _load, _planner, balance, _counts, ranks, software)
    sections = [
        section(anchor, title, *part(run)) for (anchor, title), part in zip(_SECTIONS, parts, strict=True)
    ]
    return document(f"Run of {run.job}", _SECTIONS, _header(run), *sections)


def _header(run: Run) -> Markup:
    plan, measured = run.plan, run.measured
    team = f"{counted(plan.solvers, 'solver')}, {counted(plan.helpers, 'helper')}"
    spares = f", {counted(plan.spares, 'spare')}" if plan.spares else ""
    return element(
        "header",
        element("h1", "Run of ", name(run.job)),
        element("p", "Output in ", name(run.output), f"; run {run.job_id}", class_="soft"),
        element("p", _verdict(run), class_="lead"),
        definitions(
            (
                ("time", seconds_text(measured.total_seconds)),
                ("scheme", f"{plan.scheme}, {run.implementation}"),
                ("ranks", team + spares),
                ("computation load r", fraction_text(Fraction(plan.r))),
                ("communication load", f"{measured.load:.4f}"),
                ("input", f"{counted(run.counts.files, 'file')}, {bytes_text(run.counts.bytes_in)}"),
                (
                    "output",
                    f"{counted(plan.partitions, 'part')}, {counted(run.counts.records_out, 'record')}",
                ),
                ("shuffled", f"{bytes_text(measured.coded_bytes)} in {counted(plan.packets, 'packet')}"),
            )
        ),
    )


def _verdict(run: Run) -> str:
    """Return in a few sentences what took the time; a shuffle counts as far as no map hides it."""
    measured, predicted = run.measured, run.predicted
    spent = {
        "map": measured.map_seconds,
        "shuffle": measured.shuffle_seconds,
        "reduce": measured.reduce_seconds,
    }
    if run.implementation == "parallel":
        spent["shuffle"] = measured.exposed_seconds
    longest = max(spent, key=lambda stage: spent[stage])
    text = f"Map, shuffle and reduce took {seconds_text(measured.total_seconds)}"
    if predicted.total_seconds:
        text += f", {ratio_text(measured.total_seconds, predicted.total_seconds)} what was predicted"
    text += f". Most of it went to {longest} ({seconds_text(spent[longest])} at the slowest rank)."
    waits = [
        (sum(rank.seconds(s) for s in ("wait for maps", "wait for packets")), rank.rank) for rank in run.ranks
    ]
    wait, waiter = max(waits)
    if wait > 0.1 * measured.total_seconds:
        text += f" Rank {waiter} waited {seconds_text(wait)} for others."
    if run.excess is not None:
        text += f" The load is {run.excess:.2f} × the least that this placement allows."
    return text


def _timeline(run: Run) -> Iterator[Markup]:
    yield element(
        "p", "What each rank did, in seconds since the work began. The table of ranks has the numbers."
    )
    yield key()
    yield draw_lanes(run.ranks, overlap=run.implementation == "parallel")


def _times(run: Run) -> Iterator[Markup]:
    pairs = {
        stage: tuple(getattr(of, f"{stage}_seconds") for of in (run.predicted, run.measured))
        for stage in STAGES
    }
    pairs["total"] = run.predicted.total_seconds, run.measured.total_seconds
    most = max(max(pair) for pair in pairs.values())
    columns = [Column("stage", text=True), Column("predicted"), Column("", text=True), Column("measured")]
    columns += [Column("", text=True), Column("measured / predicted")]
    rows = [
        (
            stage,
            seconds_text(predicted),
            bar(predicted, most, "predicted"),
            seconds_text(measured),
            bar(measured, most, stage),
            ratio_text(measured, predicted),
        )
        for stage, (predicted, measured) in pairs.items()
    ]
    yield table("Seconds of each stage; measured is the slowest rank's", columns, rows)
    if run.implementation == "parallel":
        yield element(
            "p",
            "Map and shuffle ran at the same time; the last packet came "
            f"{seconds_text(run.measured.exposed_seconds)} after the last map.",
        )
    costs = ", ".join(f"{key} = {value:.4g} s" for key, value in run.costs.items())
    yield element("p", f"The prediction reckons with {costs}.", class_="soft")


def _load(run: Run) -> Iterator[Markup]:
    predicted, measured = run.predicted, run.measured
    loads = [
        ("least for this placement (Lemma 1)", float(Fraction(predicted.bound)), "predicted"),
        ("predicted by the scheme's formula", float(Fraction(predicted.load)), "predicted"),
        ("measured", measured.load, "shuffle"),
    ]
    most = max(value for _, value, _ in loads)
    reference = loads[0][1]
    columns = [
        Column("load", text=True),
        Column("of all values"),
        Column("", text=True),
        Column("over the least"),
    ]
    rows = [
        (what, f"{value:.4f}", bar(value, most, kind), ratio_text(value, reference))
        for what, value, kind in loads
    ]
    yield element(
        "p", "The communication load is what was sent, each multicast once, over all intermediate values."
    )
    yield table("Communication load", columns, rows)
    even = measured.coded_bytes - measured.padding_bytes - measured.header_bytes
    yield definitions(
        (
            ("coded bytes", bytes_text(measured.coded_bytes)),
            ("of it values", bytes_text(even)),
            ("of it padding", bytes_text(measured.padding_bytes)),
            ("of it headers", bytes_text(measured.header_bytes)),
            ("intermediate values", bytes_text(measured.intermediate_bytes)),
            (f"on the wire ({run.transport})", bytes_text(measured.wire_bytes)),
        )
    )


def _planner(run: Run) -> Iterator[Markup]:
    shown = run.candidates
    yield element("ul", *(element("li", reason) for reason in run.plan.reasons))
    chosen = next((index for index, candidate in enumerate(shown) if candidate.chosen), None)
    fastest = shown[chosen or 0].total_seconds if shown else 0.0
    some = f"the fastest {len(shown)} of " if run.considered > len(shown) else ""
    columns = [Column("plan", text=True), *map(Column, ("solvers", "helpers", "r", "load", "packets"))]
    columns += [*map(Column, (*STAGES, "total", "over chosen"))]
    rows = [_candidate_row(candidate, fastest) for candidate in shown]
    yield table(
        f"Plans considered, with their predicted times: {some}{counted(run.considered, 'plan')}",
        columns,
        rows,
        marked=chosen,
    )


def _candidate_row(candidate: Candidate, fastest: float) -> tuple[str, ...]:
    times = (
        candidate.map_seconds,
        candidate.shuffle_seconds,
        candidate.reduce_seconds,
        candidate.total_seconds,
    )
    return (
        candidate.scheme + (" (chosen)" if candidate.chosen else ""),
        f"{candidate.solvers:,}",
        f"{candidate.helpers:,}",
        fraction_text(Fraction(candidate.r)),
        f"{float(Fraction(candidate.load)):.4f}",
        f"{candidate.packets:,}",
        *map(seconds_text, times),
        "chosen" if candidate.chosen else ratio_text(candidate.total_seconds, fastest),
    )


def _counts(run: Run) -> Iterator[Markup]:
    counts = run.counts
    yield definitions(
        (
            ("files mapped", f"{counts.files:,}"),
            ("input read, each file once", bytes_text(counts.bytes_in)),
            ("records mapped", f"{counts.records_mapped:,}"),
            ("pairs for the shuffle", f"{counts.pairs_shuffled:,}"),
            ("groups reduced", f"{counts.groups_reduced:,}"),
            ("records of output", f"{counts.records_out:,}"),
            ("bytes of output", bytes_text(counts.bytes_out)),
            ("batches", f"{run.plan.batches:,}"),
            ("packets", f"{run.plan.packets:,}"),
            ("multicast groups", f"{run.plan.groups:,}"),
        )
    )
    yield element(
        "p", "All counts were compared across the ranks: nothing was lost or doubled.", class_="soft"
    )
