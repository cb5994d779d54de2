"""A picture of who did what when: a lane for each rank."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from coded_mr.report.document import Rank, Stage
from coded_mr.report.page_parts import Markup, element, seconds_text

__all__ = ["draw_lanes", "key", "kind"]

_WIDTH, _LEFT, _RIGHT = 1000, 150, 20
_LANE, _BAR, _TOP = 26, 20, 24
_THIN = 1.0


def kind(stage: str) -> str:
    """Return what colour a stage has: map, shuffle, reduce or wait."""
    return stage if stage in ("map", "shuffle", "reduce") else "wait"


def draw_lanes(ranks: Sequence[Rank], *, overlap: bool) -> Markup:
    """Return the picture; with `overlap` the map is above the shuffle, which goes on at the same time."""
    end = max((stage.stop for rank in ranks for stage in rank.stages), default=0.0) or 1.0
    height = _TOP + _LANE * len(ranks) + 4
    lanes = [_lane(rank, _TOP + _LANE * index, end, overlap) for index, rank in enumerate(ranks)]
    svg = element(
        "svg",
        *_axis(end, height),
        *lanes,
        viewBox=f"0 0 {_WIDTH} {height}",
        role="group",
        aria_label="Timeline: a lane for each rank",
    )
    return element("div", svg, class_="lanes", tabindex=0, role="region", aria_label="Timeline")


def key() -> Markup:
    """Return what the colours mean."""
    entries = (
        ("map", "map"),
        ("shuffle", "shuffle"),
        ("code", "of it encoding and decoding, drawn from the start of the shuffle"),
        ("reduce", "reduce"),
        ("wait", "waiting for others"),
    )
    return element(
        "ul",
        *(element("li", element("span", class_=name, aria_hidden="true"), text) for name, text in entries),
        class_="key",
    )


def _x(seconds: float, end: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * seconds / end


def _axis(end: float, height: int) -> Iterator[Markup]:
    step = 10 ** math.floor(math.log10(end))
    step = next(step * part for part in (0.2, 0.5, 1.0, 2.0) if end / (step * part) <= 6)
    for number in range(int(end / step * (1 + 1e-9)) + 1):
        x = _x(number * step, end)
        yield element("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=_TOP - 6, y2=height, class_="grid")
        text = seconds_text(number * step)
        yield element("text", text, x=f"{x:.1f}", y=_TOP - 10, text_anchor="middle", class_="tick")


def _lane(rank: Rank, y: int, end: float, overlap: bool) -> Markup:
    label = f"rank {rank.rank} · {rank.role}"
    told = ", ".join(f"{stage.name} {seconds_text(stage.stop - stage.start)}" for stage in rank.stages)
    back = element("rect", x=_LEFT, y=y, width=_WIDTH - _LEFT - _RIGHT, height=_BAR, class_="lane")
    return element(
        "g",
        element("text", label, x=_LEFT - 10, y=y + 14, text_anchor="end"),
        back,
        *(part for stage in rank.stages for part in _parts(rank, stage, y, end, overlap)),
        role="img",
        aria_label=f"{label}: {told or 'nothing to do'}",
    )


def _parts(rank: Rank, stage: Stage, y: int, end: float, overlap: bool) -> Iterator[Markup]:
    top, height = y, _BAR
    if overlap and stage.name in ("map", "shuffle"):
        height = _BAR // 2
        top += height if stage.name == "shuffle" else 0
    yield _rect(stage.start, stage.stop, top, height, end, kind(stage.name), stage.name)
    # A shuffle before the last one only set groups up.
    if stage == next((last for last in reversed(rank.stages) if last.name == "shuffle"), None):
        begin, thin = stage.start, height // 2
        for name, spent in (("encode", rank.traffic.encode_seconds), ("decode", rank.traffic.decode_seconds)):
            if spent:
                stop = min(begin + spent, stage.stop)
                yield _rect(
                    begin, stop, top + height - thin, thin, end, "code", f"{name} {seconds_text(spent)}"
                )
                begin = stop


def _rect(start: float, stop: float, y: int, height: int, end: float, kind: str, title: str) -> Markup:
    left, right = _x(start, end), _x(stop, end)
    said = title if kind == "code" else f"{title}: {seconds_text(stop - start)} from {seconds_text(start)}"
    width = f"{max(right - left, _THIN):.2f}"
    return element(
        "rect", element("title", said), x=f"{left:.2f}", y=y, width=width, height=height, class_=kind
    )
