"""The picture: a panel for each setting, a bar for each rival, stacked by stage, the theory as a mark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.network.records import Link, Run
from benchmarks.network.settings import Setting
from benchmarks.network.summary import Row, Summary, summarise
from coded_mr.report.plot import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw"]

_NETWORKS = {"bus": "shared bus", "switch": "full-duplex switch"}
_WIDTH, _BAR, _PANEL = 13.0, 0.2, 0.75  # inches


def draw(settings: Sequence[Setting], records: Sequence[Link | Run], path: Path) -> None:
    """Draw what was measured of the settings, on white: it is readable on any page."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    summaries = summarise(settings, records)
    kinds = list(dict.fromkeys((s.setting.job, s.setting.hosts) for s in summaries))
    heights = [
        _PANEL + _BAR * max(len(s.rows) for s in summaries if (s.setting.job, s.setting.hosts) == kind)
        for kind in kinds
    ]
    networks = [name for name in _NETWORKS if any(s.setting.network == name for s in summaries)]
    figure = Figure(figsize=(_WIDTH / 2 * max(len(networks), 1), sum(heights) + 0.6), layout="constrained")
    FigureCanvasAgg(figure)
    if summaries:
        grid = figure.add_gridspec(len(kinds), len(networks), height_ratios=heights)
        for summary in summaries:
            setting = summary.setting
            place = kinds.index((setting.job, setting.hosts)), networks.index(setting.network)
            _panel(figure.add_subplot(grid[place]), summary)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside upper center", ncols=len(labels), frameon=False, fontsize=9
        )
    figure.savefig(path, facecolor="white", metadata={"Date": None} if path.suffix == ".svg" else None)


def _panel(axes: Axes, summary: Summary) -> None:
    """Draw one setting, the first rival at the top."""
    places = range(len(summary.rows))
    left = [0.0] * len(summary.rows)
    for stage, colour in COLOURS.items():
        widths = [getattr(row, stage) for row in summary.rows]
        axes.barh(places, widths, 0.74, left, color=colour, label=stage)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axes.errorbar(
        [row.total for row in summary.rows],
        places,
        xerr=[[r.total - r.least for r in summary.rows], [r.most - r.total for r in summary.rows]],
        fmt="none",
        ecolor="#333333",
        elinewidth=1,
        capsize=2,
        label="least to most of the total",
    )
    axes.scatter(
        [row.map + row.ideal for row in summary.rows],
        places,
        marker="D",
        s=16,
        facecolor="white",
        edgecolor="black",
        linewidth=0.9,
        zorder=5,
        label="end of the shuffle in theory",
    )
    longest = max(row.most for row in summary.rows)
    for place, row in zip(places, summary.rows, strict=True):
        gain, bold = summary.gain(row), row == summary.fastest
        axes.annotate(
            "" if gain is None else f"{gain:.2f}×",
            (max(row.most, row.map + row.ideal), place),
            (6, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            fontweight="bold" if bold else "normal",
        )
    axes.set_yticks(places, [_label(row) for row in summary.rows], fontsize=8)
    axes.set_ylim(len(summary.rows) - 0.4, -0.6)
    axes.set_xlim(0, 1.12 * longest)
    axes.tick_params(axis="x", labelsize=8)
    setting = summary.setting
    axes.set_title(
        f"{setting.job}, {setting.hosts} hosts, {_NETWORKS[setting.network]} {setting.rate} Mbit/s (seconds)",
        fontsize=10,
        loc="left",
    )
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)


def _label(row: Row) -> str:
    return row.rival.name
