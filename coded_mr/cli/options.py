"""Options that several commands share, and what becomes of them."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from coded_mr.errors import OutputError, UsageError
from coded_mr.plan.planner import SCHEMES, Request
from coded_mr.theory.costs import Costs

__all__ = [
    "add_planning",
    "add_scratch",
    "add_topology",
    "check_json",
    "check_scratch",
    "check_topology",
    "costs_of",
    "request_of",
    "write_json",
]


def add_planning(parser: argparse.ArgumentParser) -> None:
    """Add what the planner can be told."""
    group = parser.add_argument_group("plan")
    positive, natural = _at_least(1), _at_least(0)
    group.add_argument("-n", "--ranks", type=positive, metavar="RANKS", help="MPI ranks to use")
    group.add_argument(
        "-p",
        "--partitions",
        type=positive,
        metavar="Q",
        help="output partitions Q, reduced by one solver each",
    )
    group.add_argument(
        "-r", "--load", type=natural, metavar="LOAD", help="computation load: solvers that map a file"
    )
    group.add_argument("--helpers", type=natural, metavar="H", help="ranks that only map and send")
    group.add_argument("--scheme", choices=SCHEMES, help="how the shuffle is coded")
    group.add_argument(
        "-s", type=positive, default=1, metavar="S", help="solvers that reduce each partition (cascaded)"
    )
    group.add_argument(
        "--implementation",
        choices=("sequential", "parallel"),
        default="sequential",
        help="map and shuffle one after the other (Theorem 1) or at the same time (Theorem 2)",
    )
    group.add_argument(
        "--profile", metavar="FILE", help="costs that `coded-mr calibrate --json FILE` measured"
    )
    group.add_argument(
        "--costs",
        metavar="cm,cs,cr",
        help="seconds to map everything on one server, to send all intermediate values once, to reduce one "
        "partition: integers, decimals or fractions",
    )


def add_topology(parser: argparse.ArgumentParser) -> None:
    """Add what tells where hosts are in the network."""
    parser.add_argument(
        "--topology",
        metavar="FILE|slurm",
        help="the network's switches, in lines as in Slurm's topology.conf (SwitchName=s1 Nodes=h[1-4]), or "
        "slurm: ask it. Ranks then play the parts of the plan that keep packets low in it",
    )


def check_topology(topology: str | None) -> None:
    """Refuse, before any work, a topology file that cannot be used; raises UsageError."""
    if topology is not None:
        from coded_mr.topology import SLURM, read_topology

        if topology != SLURM:
            read_topology(topology)


def _at_least(least: int) -> Callable[[str], int]:
    """Return the conversion of an option that is a whole number from some least one."""

    def whole(text: str) -> int:
        number = int(text) if text.isascii() and text.lstrip("-").isdigit() else None
        if number is None or number < least:
            raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}, not {text!r}")
        return number

    return whole


def add_scratch(parser: argparse.ArgumentParser) -> None:
    """Add the option that says where results are kept that nobody asked for."""
    parser.add_argument(
        "--scratch",
        default=tempfile.gettempdir(),
        metavar="DIR",
        help="directory for the results until they are thrown away; ranks on several hosts must all see it "
        "(default: %(default)s)",
    )


def check_scratch(path: str) -> None:
    """Raise UsageError when the scratch directory is none."""
    if not Path(path).is_dir():
        raise UsageError(f"--scratch {path} is not a directory: name one that exists")


def costs_of(options: argparse.Namespace) -> Costs | None:
    """Return the costs given, exactly; None when there are none."""
    return None if options.costs is None else Costs.parse(options.costs)


def request_of(options: argparse.Namespace, *, partitions: int, ranks: int | None) -> Request:
    """Return what the planner is asked, with these numbers where the options leave them open."""
    return Request(
        partitions=options.partitions if options.partitions is not None else partitions,
        ranks=ranks,
        r=options.load,
        helpers=options.helpers,
        scheme=options.scheme,
        implementation=options.implementation,
        s=options.s,
    )


def check_json(path: str | None) -> None:
    """Refuse, before any work, a JSON file that could not be written; raises OutputError."""
    if path in (None, "-"):
        return
    assert path is not None
    target = Path(path)
    if target.is_dir():
        raise OutputError(f"--json {path} is a directory: name a file")
    if not target.absolute().parent.is_dir():
        raise OutputError(
            f"--json {path}: the directory {target.absolute().parent} does not exist; create it first"
        )
    if not os.access(target if target.exists() else target.absolute().parent, os.W_OK):
        raise OutputError(f"--json {path} is not writable: choose another file")


def write_json(path: str, document: object) -> None:
    """Write a document whole or not at all; "-" is standard output. Raises UsageError."""
    text = json.dumps(document, indent=1)
    if path == "-":
        print(text, file=sys.stdout, flush=True)
        return
    target = Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        draft.write_text(text + "\n")
        draft.replace(target)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UsageError(f"cannot write --json {path}: {error.strerror}; choose another file") from error
