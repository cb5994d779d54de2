"""The parts of a page that are about the ranks: balance, numbers of each, software and hosts."""

from __future__ import annotations

from collections.abc import Iterator

from coded_mr.report.document import Rank, Run, Spread
from coded_mr.report.page_parts import Column, Markup, element, name, seconds_text, table
from coded_mr.text import bytes_text, counted

__all__ = ["STAGES", "balance", "ranks", "software"]

STAGES = ("map", "shuffle", "reduce")
_MEASURES = {
    "bytes_in": "input read",
    "records_mapped": "records mapped",
    "map_seconds": "time in map",
    "shuffle_seconds": "time in shuffle",
    "waiting_seconds": "time waiting",
    "sent_bytes": "coded bytes sent",
    "peak_bytes": "most intermediate values held",
    "received_bytes": "bytes received",
    "reduce_seconds": "time in reduce",
    "records_out": "records of output",
}


def balance(run: Run) -> Iterator[Markup]:
    """Yield how evenly the ranks shared the work."""
    columns = [Column("measure", text=True), *map(Column, ("least", "median", "most", "most / mean"))]
    columns.append(Column("ranks from least to most", text=True))
    yield element("p", "How evenly the ranks shared the work: most over mean is 1 when all did the same.")
    rows = [
        (
            _title(measure),
            *(_amount(measure, value) for value in (spread.least, spread.median, spread.most)),
            f"{spread.imbalance:.2f}",
            _spark(spread),
        )
        for measure, spread in run.spreads.items()
    ]
    yield table("Spread over the ranks", columns, rows)


def _amount(measure: str, value: float) -> str:
    if measure.endswith("_seconds"):
        return seconds_text(value)
    return bytes_text(value) if "bytes" in measure else f"{value:,.0f}"


def _spark(spread: Spread) -> Markup:
    counts = spread.histogram
    width, most = 120 / len(counts), max(counts) or 1
    bars = [
        element(
            "rect",
            x=f"{index * width + 1:.2f}",
            y=f"{24 - 22 * count / most:.2f}",
            width=f"{max(width - 2, 1):.2f}",
            height=f"{22 * count / most:.2f}",
            class_="count",
        )
        for index, count in enumerate(counts)
    ]
    told = f"ranks in each of {counted(len(counts), 'equal step')}: {', '.join(map(str, counts))}"
    base = element("line", x1=0, x2=120, y1=24, y2=24, class_="grid")
    return element("svg", base, *bars, viewBox="0 0 120 25", role="img", aria_label=told, class_="spark")


def ranks(run: Run) -> Iterator[Markup]:
    """Yield what each rank did, in numbers."""
    columns = [Column("rank"), Column("host", text=True), Column("role", text=True)]
    titles = ("files", "input", "map", "waits", "shuffle", "encode", "decode", "reduce")
    columns += [*map(Column, (*titles, "sent", "received", "records out", "peak"))]
    yield table("What each rank did", columns, map(_rank_row, run.ranks))


def _rank_row(rank: Rank) -> tuple[str, ...]:
    traffic = rank.traffic
    waits = sum(rank.seconds(stage) for stage in {part.name for part in rank.stages} - set(STAGES))
    times = (
        rank.seconds("map"),
        waits,
        rank.seconds("shuffle"),
        traffic.encode_seconds,
        traffic.decode_seconds,
        rank.seconds("reduce"),
    )
    return (
        str(rank.rank),
        name(rank.host),
        rank.role,
        f"{rank.files:,}",
        bytes_text(rank.bytes_in),
        *map(seconds_text, times),
        bytes_text(traffic.sent_payload + traffic.sent_header),
        bytes_text(traffic.received),
        f"{rank.records_out:,}",
        bytes_text(rank.peak_bytes),
    )


def software(run: Run) -> Iterator[Markup]:
    """Yield what the job was given, the versions and hosts."""
    given = [*run.parameters.items(), *(("input", path) for path in run.inputs)]
    given += [(f"seed: {what}", seed) for what, seed in run.seeds.items()]
    if given:
        columns = [Column("what", text=True), Column("value", text=True)]
        yield table("The job's parameters, inputs and seeds", columns, [(w, name(str(v))) for w, v in given])
    rows = [(what, version) for what, version in run.versions.items()]
    yield table("Versions on rank 0", [Column("what", text=True), Column("version", text=True)], rows)
    hosts = [(name(host), f"{len(own):,}", _ranges(own)) for host, own in run.hosts.items()]
    columns = [Column("host", text=True), Column("ranks"), Column("which", text=True)]
    yield table("Hosts", columns, hosts)


def _ranges(numbers: list[int]) -> str:
    """Return numbers in order, with runs of them as ranges: 0–3, 7."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}–{last}" for first, last in runs)


def _title(measure: str) -> str:
    """Return a measure of the spreads in words."""
    return _MEASURES.get(measure, measure.replace("_", " "))
