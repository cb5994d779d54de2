"""A comparison as a picture: time over the computation load, stacked by stage, the prediction as a line."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coded_mr.engine.comparison_report import Comparison, Entry, short
from coded_mr.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "Bar", "Panel", "check_target", "draw", "panels"]

_SUFFIXES = (".png", ".svg")
_MISSING = "--plot needs matplotlib: pip install 'coded_mr[report]'"

# Colours of Okabe and Ito, which people with any colour vision tell apart.
COLOURS = {"map": "#0072B2", "shuffle": "#E69F00", "waiting": "#C8C8C8", "reduce": "#009E73"}
_DOTS_AN_INCH = 150
_BARS_A_ROW = 12


@dataclass(frozen=True)
class Bar:
    """Hold one plan's bar: segments in seconds, from the bottom, that reach up to the measured total.

    In the parallel implementation the shuffle's segment is what does not hide behind the map.
    """

    tick: str
    segments: dict[str, float]
    total: float
    least: float
    most: float
    predicted: float
    fastest: bool
    chosen: bool


@dataclass(frozen=True)
class Panel:
    """Hold the bars of one scheme, by computation load."""

    title: str
    bars: tuple[Bar, ...]


def panels(comparison: Comparison) -> list[Panel]:
    """Return what is drawn: a panel for each scheme, in the order of the plans."""
    by_scheme: dict[str, list[int]] = {}
    for index, entry in enumerate(comparison.entries):
        by_scheme.setdefault(entry.name, []).append(index)
    entries = comparison.entries
    return [
        Panel(name, tuple(_bar(comparison, i) for i in sorted(indices, key=lambda i: entries[i].r)))
        for name, indices in by_scheme.items()
    ]


def _bar(comparison: Comparison, index: int) -> Bar:
    entry = comparison.entries[index]
    return Bar(
        tick=f"{short(entry.r)}\n{entry.team}",
        segments=_segments(entry, parallel=comparison.implementation == "parallel"),
        total=entry.median.total,
        least=entry.least.total,
        most=entry.most.total,
        predicted=entry.predicted.total,
        fastest=index == comparison.fastest,
        chosen=index == comparison.choice,
    )


def _segments(entry: Entry, *, parallel: bool) -> dict[str, float]:
    times = entry.median
    shuffle = max(times.shuffle - times.map, 0.0) if parallel else times.shuffle
    waiting = max(times.total - times.map - shuffle - times.reduce, 0.0)
    return {"map": times.map, "shuffle": shuffle, "waiting": waiting, "reduce": times.reduce}


def check_target(path: str) -> None:
    """Refuse, before any work, a picture that could not be drawn or written; raises UsageError."""
    target = Path(path)
    if target.suffix.lower() not in _SUFFIXES:
        raise UsageError(f"--plot {path}: the name must end in {' or '.join(_SUFFIXES)}")
    if importlib.util.find_spec("matplotlib") is None:
        raise UsageError(_MISSING)
    folder = target.absolute().parent
    if target.is_dir() or not folder.is_dir():
        what = "is a directory" if target.is_dir() else f"needs the directory {folder}, which does not exist"
        raise UsageError(f"--plot {path} {what}: name a file in a directory that exists")
    if not os.access(target if target.exists() else folder, os.W_OK):
        raise UsageError(f"--plot {path} is not writable: choose another file")


def draw(comparison: Comparison, path: str) -> None:
    """Write the picture whole or not at all, as PNG or SVG by the suffix of `path`.

    Raises UsageError when it cannot be written or matplotlib is missing.
    """
    check_target(path)
    figure = _figure(comparison)
    target = Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    form = target.suffix.lower().removeprefix(".")
    try:
        figure.savefig(draft, format=form, dpi=_DOTS_AN_INCH)
        draft.replace(target)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UsageError(f"cannot write --plot {path}: {error.strerror}; choose another file") from error


def _figure(comparison: Comparison) -> Figure:
    """Return the picture on a canvas of its own: pyplot and its global state stay untouched."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    rows = _rows(panels(comparison))
    columns = max(sum(map(_width, row)) for row in rows)
    figure = Figure(
        figsize=(max(0.7 * columns + 2.6, 8.0), 3.7 * len(rows) + 0.9),
        layout=ConstrainedLayoutEngine(wspace=0.02, hspace=0.04),
    )
    FigureCanvasAgg(figure)
    first = _draw_rows(figure, rows, columns)
    highest = max(max(bar.most, bar.predicted) for row in rows for panel in row for bar in panel.bars)
    first.set_ylim(0, 1.25 * highest or 1)
    figure.suptitle(_title(comparison), fontsize=10)
    figure.supxlabel("computation load r, and below it solvers + helpers", fontsize=10)
    _legend(figure, first, comparison)
    return figure


def _rows(drawn: Sequence[Panel]) -> list[list[Panel]]:
    """Return the panels in rows of a width that a page has."""
    rows: list[list[Panel]] = [[]]
    for panel in drawn:
        if rows[-1] and sum(map(_width, [*rows[-1], panel])) > _BARS_A_ROW:
            rows.append([])
        rows[-1].append(panel)
    return rows


def _width(panel: Panel) -> int:
    """Return the bars that a panel has room for; a title needs two."""
    return max(len(panel.bars), 2)


def _draw_rows(figure: Figure, rows: Sequence[Sequence[Panel]], columns: int) -> Axes:
    """Draw all panels over one scale of time, which belongs to the first of them; return that one."""
    grid = figure.add_gridspec(len(rows), columns)
    first: Axes | None = None
    for number, row in enumerate(rows):
        start = 0
        for panel in row:
            axes = figure.add_subplot(grid[number, start : start + _width(panel)], sharey=first)
            _draw_panel(axes, panel)
            axes.tick_params(labelleft=not start)
            axes.set_ylabel("" if start else "time (s)")
            first, start = first or axes, start + _width(panel)
    assert first is not None
    return first


def _title(comparison: Comparison) -> str:
    return (
        f"{Path(comparison.job).name}: {comparison.ranks} ranks, {comparison.partitions} partitions, "
        f"{comparison.implementation}, median of {comparison.rounds}"
    )


def _draw_panel(axes: Axes, panel: Panel) -> None:
    places = list(range(len(panel.bars)))
    bottoms = [0.0] * len(places)
    for stage in panel.bars[0].segments:
        heights = [bar.segments[stage] for bar in panel.bars]
        axes.bar(
            places,
            heights,
            0.7,
            bottoms,
            color=COLOURS[stage],
            label=stage,
        )
        bottoms = [bottom + height for bottom, height in zip(bottoms, heights, strict=True)]
    _draw_totals(axes, places, panel.bars)
    axes.set_xticks(places, [bar.tick for bar in panel.bars])
    edge = 0.6 + 0.5 * max(2 - len(places), 0)
    axes.set_xlim(-edge, len(places) - 1 + edge)
    axes.set_title(panel.title, fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)


def _draw_totals(axes: Axes, places: Sequence[int], bars: Sequence[Bar]) -> None:
    """Draw the prediction, the spread of what was measured, and which bars are special."""
    spread = [[bar.total - bar.least for bar in bars], [bar.most - bar.total for bar in bars]]
    axes.errorbar(
        places,
        [bar.total for bar in bars],
        spread,
        fmt="none",
        ecolor="#444444",
        capsize=4,
        elinewidth=1.2,
        label="least to most",
    )
    axes.plot(
        places,
        [bar.predicted for bar in bars],
        color="black",
        linewidth=1.2,
        marker="o",
        markersize=6,
        markerfacecolor="white",
        markeredgewidth=1.4,
        zorder=5,
        label="predicted",
    )
    for place, bar in zip(places, bars, strict=True):
        words = ["fastest"] * bar.fastest + ["planner's\nchoice"] * bar.chosen
        if words:
            top = max(bar.most, bar.predicted)
            axes.annotate(
                "\n".join(words),
                (place, top),
                (0, 7),
                textcoords="offset points",
                ha="center",
                fontsize=8,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.5},
                zorder=6,
            )


def _legend(figure: Figure, axes: Axes, comparison: Comparison) -> None:
    """Explain the colours in the order in which they are stacked, from the top."""
    handles, labels = axes.get_legend_handles_labels()
    found = dict(zip(labels, handles, strict=True))
    order = ["predicted", *reversed(COLOURS), "least to most"]
    names = {"least to most": "least to most\nof total"}
    if comparison.implementation == "parallel":
        names["shuffle"] = "shuffle that\nmap does not hide"
    figure.legend(
        [found[label] for label in order],
        [names.get(label, label) for label in order],
        loc="outside right upper",
        fontsize=9,
        frameon=False,
    )
