"""`coded-mr simulate`: where coding pays, on a machine that does not exist.

What --json writes is described in `coded_mr.simulate.report`.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Literal, TypeVar

from coded_mr.cli import Parser
from coded_mr.cli.options import check_json, costs_of, write_json
from coded_mr.errors import UsageError
from coded_mr.plan.offers import MAX_PACKETS
from coded_mr.simulate import Machine, Noise, Study
from coded_mr.simulate.report import Result, document, text

__all__ = ["main"]

T = TypeVar("T")

# More partitions make a table slow to compute, and tell nothing new.
_MOST_PARTITIONS = 10_000
_MOST_REPETITIONS = 10_000
# A longer table is cut to this many rows around the best, unless --sweep asks for all.
_ROWS = 25
# Left to choose, the command simulates single packets as long as that takes a few seconds.
_AUTOMATIC_PACKETS = 100_000
_REPETITIONS = 20

_NUMBER = re.compile(r"[0-9]+(/0*[1-9][0-9]*)?|[0-9]*\.[0-9]+|[0-9]+\.")


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options = _parser().parse_args(list(arguments))
    check_json(options.json)
    result = _over_q(options) if options.sweep_q is not None else _over_r(options)
    if options.json is not None:
        write_json(options.json, document(result))
    if options.json != "-":
        print(text(result))
    return 0


def _parser() -> Parser:
    parser = Parser(prog="coded-mr simulate", description="Simulate coded and uncoded jobs on any machine.")
    parser.add_argument("-p", "--partitions", type=_whole(1), metavar="Q", help="partitions, one a solver")
    parser.add_argument(
        "--implementation",
        choices=("sequential", "parallel"),
        default="sequential",
        help="map and shuffle one after the other, or at the same time",
    )
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("-r", "--load", type=_exact, metavar="LOAD", help="this computation load only")
    shown.add_argument(
        "--sweep", action="store_true", help="every computation load, not some around the best"
    )
    shown.add_argument(
        "--sweep-q",
        type=_list_of(_whole(1)),
        metavar="Q,Q,...",
        help="the best load for each Q, instead of -p",
    )
    parser.add_argument("--helpers", type=_whole(1), metavar="H", help="helpers, instead of as few as do")
    parser.add_argument(
        "--by",
        choices=("auto", "packets", "loads"),
        default="auto",
        help="simulate packet by packet, or from loads as if packets were endlessly small (auto: packets "
        "while they are few)",
    )
    parser.add_argument(
        "--json", metavar="FILE", help="write one JSON object to FILE, or to standard output: -"
    )
    _add_machine(parser)
    return parser


def _add_machine(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("machine")
    group.add_argument("--costs", metavar="cm,cs,cr", help="seconds to map, shuffle and reduce, as in `plan`")
    group.add_argument(
        "--network",
        choices=("shared", "ports"),
        default="shared",
        help="one transmission at a time, or a port to send and one to receive for each rank",
    )
    group.add_argument(
        "--multicast",
        type=_multicast,
        default=(Fraction(1),),
        metavar="B1,B2,...",
        help="cost of a multicast to 1, 2, ... receivers relative to a unicast, the last for all more; "
        "`linear`: j copies for j receivers (default: 1, as in the paper)",
    )
    group.add_argument("--overhead", type=_exact, default=Fraction(0), metavar="S", help="seconds a packet")
    group.add_argument(
        "--noise", type=_real, default=0.0, metavar="X", help="standard deviation of map times"
    )
    group.add_argument("--distribution", choices=("exponential", "lognormal"), default="exponential")
    group.add_argument("--seed", type=_whole(0), default=0, help="of the noise")
    group.add_argument(
        "--repeat", type=_whole(1), metavar="R", help=f"repetitions (with noise {_REPETITIONS}, else 1)"
    )
    group.add_argument(
        "--speeds", type=_list_of(_exact), default=(), metavar="V,V,...", help="map speeds of rank 0, 1, ..."
    )


def _whole(least: int) -> Callable[[str], int]:
    def whole(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) >= least):
            raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}, not {text!r}")
        return int(text)

    return whole


def _exact(text: str) -> Fraction:
    if not _NUMBER.fullmatch(text) or len(text) > 100:
        raise argparse.ArgumentTypeError(f"must be a number such as 2, 0.25 or 14/9, not {text!r}")
    return Fraction(text)


def _real(text: str) -> float:
    return float(_exact(text))


def _list_of(convert: Callable[[str], T]) -> Callable[[str], tuple[T, ...]]:
    return lambda text: tuple(convert(part.strip()) for part in text.split(","))


def _multicast(text: str) -> tuple[Fraction, ...] | Literal["linear"]:
    return "linear" if text == "linear" else _list_of(_exact)(text)


def _machine(options: argparse.Namespace) -> Machine:
    costs = costs_of(options)
    if costs is None:
        raise UsageError("simulate needs --costs cm,cs,cr, such as `coded-mr simulate -p 20 --costs 1,2,1`")
    return Machine(
        costs=costs,
        network=options.network,
        multicast=options.multicast,
        overhead=options.overhead,
        noise=Noise(options.distribution, options.noise, options.seed),
        speeds=options.speeds,
    )


def _study(options: argparse.Namespace, Q: int) -> Study:
    repeat = options.repeat or (_REPETITIONS if options.noise else 1)
    if Q > _MOST_PARTITIONS or repeat > _MOST_REPETITIONS:
        raise UsageError(
            f"simulate takes at most {_MOST_PARTITIONS} partitions and {_MOST_REPETITIONS} repetitions, not"
            f" {Q} and {repeat}; `coded-mr plan` has the optimum of any number of partitions"
        )
    return Study(Q, _machine(options), options.implementation, options.helpers, repeat)


def _over_q(options: argparse.Namespace) -> Result:
    if options.partitions is not None or options.by == "packets":
        raise UsageError(
            "--sweep-q names the partitions itself and is simulated by loads: no -p, no --by packets"
        )
    studies = [_study(options, Q) for Q in options.sweep_q]
    rows = [row for study in studies for row in study.rows([study.best()])]
    return Result(studies[0], rows, "loads", over_q=True)


def _over_r(options: argparse.Namespace) -> Result:
    if options.partitions is None:
        raise UsageError("simulate needs -p Q, or --sweep-q 10,100,1000")
    study = _study(options, options.partitions)
    loads = _wanted(study, options)
    if options.by == "loads":
        return Result(study, study.rows(loads), "loads")
    packets = {r: count for r in loads if (count := study.packets(r)) is not None}
    few = {r: count for r, count in packets.items() if count <= MAX_PACKETS}
    if options.by == "auto" and (
        not few or few != packets or sum(few.values()) * study.repeat > _AUTOMATIC_PACKETS
    ):
        return Result(study, study.rows(loads), "loads")
    if not few:
        raise UsageError(
            f"no plan to simulate by packets: at most {MAX_PACKETS} packets, coded and uncoded, and an end to"
            " the helpers (r=0 needs --helpers); use --by loads"
        )
    return Result(study, study.rows(few, "packets"), "packets")


def _wanted(study: Study, options: argparse.Namespace) -> list[Fraction]:
    """Return the computation loads to show, ascending."""
    if options.load is not None:
        return [options.load]
    best = study.best()
    loads = sorted({best, *map(Fraction, study.whole_loads())})
    if options.sweep:
        return loads
    start = min(max(loads.index(best) - _ROWS // 2, 0), max(len(loads) - _ROWS, 0))
    return loads[start : start + _ROWS]
