"""Draw a tradeoff as an SVG picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

from coded_mr.errors import OutputError

__all__ = ["Dot", "write_curve"]

_WIDTH, _HEIGHT, _MARGIN = 720, 480, 64
_TICKS = 5


class Dot(NamedTuple):
    """Name a point of the picture: latency, load, and what to write beside it."""

    x: float
    y: float
    label: str


def write_curve(
    path: str, dots: Sequence[Dot], line: Sequence[tuple[float, float]], measured: Sequence[Dot] = ()
) -> None:
    """Write a picture of the points, the envelope through its corners, and measured points.

    Raises OutputError when the file cannot be written.
    """
    try:
        Path(path).write_text(_picture(dots, line, measured), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"--plot {path} cannot be written: {error.strerror}; name another file") from error


def _picture(dots: Sequence[Dot], line: Sequence[tuple[float, float]], measured: Sequence[Dot]) -> str:
    everything = [*dots, *measured]
    right = max(dot.x for dot in everything) * 1.1 or 1.0
    top = max(dot.y for dot in everything) * 1.1 or 1.0

    def at(x: float, y: float) -> tuple[float, float]:
        across, up = x / right * (_WIDTH - 2 * _MARGIN), y / top * (_HEIGHT - 2 * _MARGIN)
        return round(_MARGIN + across, 2), round(_HEIGHT - _MARGIN - up, 2)

    corners = " ".join("{},{}".format(*at(x, y)) for x, y in line)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif"'
        ' font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        *_axes(right, top),
        f'<polyline points="{corners}" fill="none" stroke="#1f77b4" stroke-width="2"/>',
        *(_mark(*at(dot.x, dot.y), dot.label, "#1f77b4") for dot in dots),
        *(_mark(*at(dot.x, dot.y), dot.label, "#d62728") for dot in measured),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _axes(right: float, top: float) -> list[str]:
    """Return the axes with their names and numbers."""
    low, high = _HEIGHT - _MARGIN, _MARGIN
    wide, tall = _WIDTH - 2 * _MARGIN, low - high
    lines = [f'<path d="M{_MARGIN},{high} V{low} H{_WIDTH - _MARGIN}" fill="none" stroke="black"/>']
    for tick in range(_TICKS + 1):
        x, y = _MARGIN + wide * tick / _TICKS, low - tall * tick / _TICKS
        lines.append(_words(x, low + 18, f"{right * tick / _TICKS:.3g}"))
        lines.append(_words(_MARGIN - 24, y + 4, f"{top * tick / _TICKS:.3g}"))
    lines.append(_words(_WIDTH / 2, _HEIGHT - 16, "latency D"))
    lines.append(_words(_MARGIN, high - 16, "communication load L"))
    return lines


def _mark(x: float, y: float, label: str, colour: str) -> str:
    return f'<circle cx="{x}" cy="{y}" r="4" fill="{colour}"/>' + _words(x + 8, y - 8, label, "start")


def _words(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.2f}" y="{y:.2f}" text-anchor="{anchor}">{escape(text)}</text>'
