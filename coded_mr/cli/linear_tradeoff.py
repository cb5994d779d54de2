"""`coded-mr linear tradeoff`: latency D(q) against communication load L(q), without MPI.

--json writes {"format": "coded-mr-tradeoff/1", "K", "mu", "N", "unit", "points": [...], "measured": [...]}.
A point has "q" and, as exact fractions in strings, "D", "L", "L1", "L2" (null if there is none), "bound",
"bound_published", "mu_bar", and "corner": whether it is a corner of the lower convex envelope. "cheapest" is
the q that --costs choose, or null; "memory_sharing" what --latency asked for, or null.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from coded_mr.cli import Parser
from coded_mr.cli.linear_curve import Dot, write_curve
from coded_mr.cli.linear_values import fraction, whole
from coded_mr.cli.options import check_json, write_json
from coded_mr.errors import InputError
from coded_mr.theory.straggling import (
    MemorySharing,
    Point,
    Setting,
    cheapest,
    envelope,
    share_memory,
    tradeoff,
)

__all__ = ["main"]

_PRODUCTS = ("coded-mr-product/1", "coded-mr-shared-product/1")


@dataclass(frozen=True)
class _Curve:
    """Hold what is shown; latencies are in units, one of which is `unit` seconds."""

    setting: Setting
    unit: Fraction
    points: tuple[Point, ...]
    corners: tuple[Point, ...]
    measured: tuple[Dot, ...]
    mix: MemorySharing | None
    choice: Point | None


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options = _parser().parse_args(list(arguments))
    check_json(options.json)
    setting = Setting(options.servers, options.mu, options.vectors)
    plain = tradeoff(setting)
    points = tuple(setting.point(point.q, options.unit * point.D) for point in plain)
    measured = tuple(map(_measured, options.measured))
    mix = None if options.latency is None else share_memory(points, options.latency)
    choice = None if options.costs is None else cheapest(points, *options.costs)
    curve = _Curve(setting, options.unit, points, envelope(points), measured, mix, choice)
    if options.plot is not None:
        dots = [Dot(float(p.D), float(p.L), f"q={p.q}") for p in points]
        write_curve(options.plot, dots, [(float(p.D), float(p.L)) for p in curve.corners], measured)
    if options.json is not None:
        write_json(options.json, _document(curve))
    if options.json != "-":
        print(_text(curve))
    return 0


def _parser() -> Parser:
    parser = Parser(
        prog="coded-mr linear tradeoff",
        description="Show what waiting for q of K servers costs: the mean latency D(q) of shifted "
        "exponential map times, and the communication load L(q).",
    )
    parser.add_argument("-K", "--servers", type=whole(1), required=True, metavar="K", help="servers")
    parser.add_argument(
        "--mu",
        type=fraction,
        required=True,
        metavar="MU",
        help="fraction of the matrix that a server stores, such as 1/2",
    )
    parser.add_argument("-N", "--vectors", type=whole(1), required=True, metavar="N", help="input vectors")
    parser.add_argument(
        "--unit",
        type=fraction,
        default=Fraction(1),
        metavar="S",
        help="seconds in which a server maps the whole matrix for one vector (default: 1)",
    )
    parser.add_argument(
        "--latency",
        type=fraction,
        metavar="D",
        help="also show the least load within this mean latency, by memory sharing",
    )
    parser.add_argument(
        "--costs",
        type=_two_fractions,
        metavar="cd,cl",
        help="also choose the q of least cost: cd for a unit of latency D, cl for a unit of load L",
    )
    parser.add_argument(
        "--measured",
        action="append",
        default=[],
        metavar="FILE",
        help="add the point of a run: what `coded-mr linear matmul --json FILE` wrote; may be repeated",
    )
    parser.add_argument("--plot", metavar="FILE", help="draw the curve, as SVG")
    parser.add_argument(
        "--json", metavar="FILE", help="write one JSON object to FILE, or to standard output: -"
    )
    return parser


def _two_fractions(text: str) -> tuple[Fraction, Fraction]:
    latency, comma, load = text.partition(",")
    if not comma:
        raise argparse.ArgumentTypeError(f"must be two numbers with a comma, such as 1,0.5, not {text!r}")
    return fraction(latency), fraction(load)


def _measured(path: str) -> Dot:
    """Return the point of a run: the latency of its last finisher, and its measured load.

    With memory sharing the parts were mapped one after the other.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"--measured {path} cannot be read as JSON: {error}") from error
    if not isinstance(document, dict) or document.get("format") not in _PRODUCTS:
        raise InputError(f"--measured {path} is no report of `coded-mr linear matmul --json`")
    parts = document.get("parts", [document])
    seconds = sum(max(entry["seconds"] for entry in part["latencies"]) for part in parts)
    waited = "+".join(str(part["q"]) for part in parts)
    return Dot(seconds, float(Fraction(document["load"]["measured"])), f"q={waited}, measured")


def _document(curve: _Curve) -> dict[str, Any]:
    setting, mix = curve.setting, curve.mix
    return {
        "format": "coded-mr-tradeoff/1",
        "K": setting.K,
        "mu": str(setting.mu),
        "N": setting.N,
        "unit": str(curve.unit),
        "points": [
            {
                "q": point.q,
                "D": str(point.D),
                "L": str(point.L),
                "L1": str(point.L1),
                "L2": None if point.L2 is None else str(point.L2),
                "bound": str(point.bound),
                "bound_published": str(point.bound_published),
                "mu_bar": str(point.mu_bar),
                "corner": point in curve.corners,
            }
            for point in curve.points
        ],
        "measured": [{"D": dot.x, "L": dot.y, "label": dot.label} for dot in curve.measured],
        "cheapest": None if curve.choice is None else curve.choice.q,
        "memory_sharing": None
        if mix is None
        else {
            "fast": mix.fast.q,
            "slow": mix.slow.q,
            "theta": str(mix.theta),
            "D": str(mix.D),
            "L": str(mix.L),
        },
    }


def _text(curve: _Curve) -> str:
    setting, mix, choice = curve.setting, curve.mix, curve.choice
    lines = [
        f"K = {setting.K} servers, each with mu = {setting.mu} of the rows; N = {setting.N} vectors",
        "",
        f"  {'q':>4} {'D':>12} {'L':>12} {'L1':>12} {'L2':>12} {'bound':>12} {'stored':>8}",
    ]
    for point in curve.points:
        mark = "*" if point in curve.corners else " "
        cells = (point.D, point.L, point.L1, point.L2, point.bound)
        shown = " ".join(f"{_short(cell):>12}" for cell in cells)
        lines.append(f"{mark} {point.q:>4} {shown} {_short(point.mu_bar):>8}")
    lines += ["", "* a corner of the lower convex envelope, on which memory sharing reaches every point"]
    if mix is not None:
        lines.append(
            f"D = {_short(mix.D)}: {mix.theta} of the rows coded for q = {mix.fast.q}, the others for"
            f" q = {mix.slow.q}; L = {_short(mix.L)}"
        )
    if choice is not None:
        lines.append(f"cheapest  q = {choice.q}: D = {_short(choice.D)}, L = {_short(choice.L)}")
    lines += [f"measured  {dot.label}: D = {dot.x:.6g} s, L = {dot.y:.6g}" for dot in curve.measured]
    return "\n".join(lines)


def _short(value: Fraction | None) -> str:
    if value is None:
        return "-"
    text = str(value)
    return text if len(text) <= 12 else f"{float(value):.6g}"
