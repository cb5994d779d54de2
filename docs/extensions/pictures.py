"""Pictures of plans, drawn from `Plan` objects: who maps what, what travels, what a receiver strips.

Colours are classes of static/site.css, so that one picture serves light and dark pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coded_mr.plan import Packet, Plan, Term
from coded_mr.report.page_parts import Markup, element
from coded_mr.theory.allocation import Row

__all__ = ["decoding", "packets", "placement", "role_name", "term_name", "times"]

_CELL, _GAP, _LABEL, _TOP = 26, 10, 84, 26
_TERM = 74


def role_name(plan: Plan, rank: int) -> str:
    """Return what a rank is in a plan, and its number."""
    return f"{'solver' if plan.reduces[rank] else 'helper'} {rank}"


def term_name(term: Term) -> str:
    """Return V[q, b] for the values of partitions q from batch b, or which segment of it."""
    whole = f"V[{'+'.join(map(str, term.partitions))}, {term.batch}]"
    return whole if term.segments == 1 else f"{whole} {term.segment + 1}/{term.segments}"


def placement(plan: Plan) -> Markup:
    """Draw a row for each rank and a column for each batch, and mark what the rank maps."""
    columns = range(len(plan.batches))
    heads = [_text(str(b), _LABEL + _CELL * b + _CELL / 2, _TOP - 8, "middle", "soft") for b in columns]
    rows: list[Markup] = []
    for rank, mapped in enumerate(plan.batches_of):
        y = _row(plan, rank)
        rows.append(_text(role_name(plan, rank), _LABEL - 10, y + 18, "end"))
        rows += [
            _square(_LABEL + _CELL * b, y, _kind(plan, rank) if b in mapped else "nothing") for b in columns
        ]
    told = "; ".join(
        f"{role_name(plan, rank)} maps batches {', '.join(map(str, mapped))}"
        for rank, mapped in enumerate(plan.batches_of)
    )
    height = _row(plan, plan.ranks)
    return _svg(_LABEL + _CELL * len(plan.batches) + 2, height, told, [*heads, *rows])


def packets(plan: Plan) -> Markup:
    """Draw a row for each packet, in the order of the schedule: its sender, its group, what it combines."""
    heads = [
        _text(f"{role_name(plan, rank)[0]}{rank}", _column(plan, rank), _TOP - 8, "middle", "soft")
        for rank in range(plan.ranks)
    ]
    right = int(_column(plan, plan.ranks))
    rows: list[Markup] = []
    for number, packet in enumerate(plan.packets):
        y = _TOP + _CELL * number + _CELL / 2
        rows.append(_text(str(number), _LABEL / 2, y + 5, "end", "soft"))
        rows += _arrow(plan, packet, y)
        rows.append(_text(_sum(packet), right, y + 5, "start", "code"))
    told = "; ".join(
        f"packet {number}: {role_name(plan, packet.sender)} sends {_sum(packet)} to solvers "
        f"{', '.join(map(str, packet.receivers))}"
        for number, packet in enumerate(plan.packets)
    )
    most = max(len(_sum(packet)) for packet in plan.packets)
    return _svg(right + 8 * most + 4, _TOP + _CELL * len(plan.packets) + 2, told, [*heads, *rows])


def decoding(plan: Plan, number: int) -> Markup:
    """Draw what each receiver of a packet strips from it, because it mapped it, and what it keeps."""
    packet = plan.packets[number]
    whole = [_text(f"packet {number}", _LABEL - 10, _TOP + 12, "end")]
    whole += [_term(t, column, _TOP - 6, "sent") for column, t in enumerate(packet.terms)]
    told = []
    for row, receiver in enumerate(packet.receivers, 1):
        y = _TOP - 6 + row * (_CELL + _GAP)
        lacks = plan.lacks(receiver, packet)
        whole.append(_text(role_name(plan, receiver), _LABEL - 10, y + 18, "end"))
        for column, term in enumerate(packet.terms):
            whole.append(_term(term, column, y, "kept" if column in lacks else "stripped"))
        kept = ", ".join(term_name(packet.terms[index]) for index in lacks)
        whole.append(_text(f"keeps {kept}", _LABEL + _TERM * len(packet.terms) + 6, y + 18, "start"))
        told.append(f"{role_name(plan, receiver)} keeps {kept}")
    height = _TOP + (len(packet.receivers) + 1) * (_CELL + _GAP)
    return _svg(_LABEL + _TERM * len(packet.terms) + 130, height, "; ".join(told), whole)


def times(rows: Sequence[Row], best: int) -> Markup:
    """Draw map, shuffle and reduce time on top of one another for each r, and point out the best r."""
    tall, step = 180, _CELL + 4
    scale = tall / float(max(row.t_map + row.t_shuffle + row.t_reduce for row in rows))
    bottom, parts = _TOP + tall, []
    for at, row in enumerate(rows):
        x, y = 40 + step * at, float(bottom)
        for kind, time in (("map", row.t_map), ("shuffle", row.t_shuffle), ("reduce", row.t_reduce)):
            high = float(time) * scale
            y -= high
            said = element("title", f"r = {row.r}: {kind} {float(time):.4g}")
            parts.append(
                element("rect", said, x=x, y=f"{y:.1f}", width=_CELL, height=f"{high:.1f}", class_=kind)
            )
        if row.r == best:
            parts.append(_text("r*", x + _CELL / 2, y - 7, "middle", "strong"))
        parts.append(_text(str(row.r), x + _CELL / 2, bottom + 16, "middle", "soft"))
    parts.append(_text("r", 28, bottom + 16, "end", "soft"))
    told = "; ".join(f"r = {row.r}: {float(row.total):.4g}" for row in rows)
    return _svg(40 + step * len(rows), bottom + 24, f"total time by r; {told}", parts)


def _kind(plan: Plan, rank: int) -> str:
    return "solver" if plan.reduces[rank] else "helper"


def _row(plan: Plan, rank: int) -> int:
    """Return the top of a rank's row: a gap lies before the helpers."""
    apart = rank < plan.ranks and not plan.reduces[rank]
    return _TOP + _CELL * rank + (_GAP if apart or (rank == plan.ranks and plan.helpers) else 0)


def _column(plan: Plan, rank: int) -> float:
    """Return the middle of a rank's column in the picture of the packets."""
    apart = rank < plan.ranks and not plan.reduces[rank]
    return _LABEL + 34 * rank - 8 + (_GAP if apart or (rank == plan.ranks and plan.helpers) else 0)


def _arrow(plan: Plan, packet: Packet, y: float) -> Iterator[Markup]:
    places = [_column(plan, rank) for rank in (packet.sender, *packet.receivers)]
    yield element("line", x1=min(places), x2=max(places), y1=y, y2=y, class_="wire")
    yield element("circle", cx=places[0], cy=y, r=8, class_=f"{_kind(plan, packet.sender)} sender")
    for place in places[1:]:
        yield element("circle", cx=place, cy=y, r=6, class_="solver")


def _sum(packet: Packet) -> str:
    """Return what a packet carries, as a formula."""
    joined = (" ⊕ " if packet.rows == 1 else ", ").join(map(term_name, packet.terms))
    return joined if packet.rows == 1 else f"{packet.rows} combinations of {joined}"


def _term(term: Term, column: int, y: float, kind: str) -> Markup:
    x = _LABEL + _TERM * column
    parts = [
        element("rect", x=x, y=y, width=_TERM - 8, height=_CELL, rx=4, class_=kind),
        _text(term_name(term), x + (_TERM - 8) / 2, y + 18, "middle", f"code {kind}"),
    ]
    if kind == "stripped":
        parts.append(element("line", x1=x + 6, x2=x + _TERM - 14, y1=y + 13, y2=y + 13, class_="wire"))
    return element("g", *parts)


def _square(x: float, y: float, kind: str) -> Markup:
    return element("rect", x=x + 2, y=y + 2, width=_CELL - 4, height=_CELL - 4, rx=4, class_=kind)


def _text(text: str, x: float, y: float, anchor: str, kind: str | None = None) -> Markup:
    return element("text", text, x=x, y=y, text_anchor=anchor, class_=kind)


def _svg(width: float, height: float, told: str, parts: Sequence[Markup]) -> Markup:
    """Return the picture; `told` says in words what it shows, for those who do not see it."""
    drawn = element(
        "svg", *parts, viewBox=f"0 0 {width:g} {height:g}", width=f"{width:g}", role="img", aria_label=told
    )
    return element("div", drawn, class_="picture")
