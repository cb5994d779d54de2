"""The command line of the emulated cluster; see `python -m benchmarks.cluster --help`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from benchmarks.cluster.builder import crash, create, destroy
from benchmarks.cluster.counters import link_bytes
from benchmarks.cluster.launching import enter, environment, job
from benchmarks.cluster.layout import MODES, fat_tree, star
from benchmarks.cluster.state import Cluster
from coded_mr.errors import CodedMRError
from coded_mr.launch import find_mpirun

STATE = "CODED_MR_CLUSTER"


def main(words: list[str]) -> int:
    """Run one command and return its exit status."""
    options = _parser().parse_args(words)
    try:
        status: int = options.act(options)
    except CodedMRError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_status
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description="An emulated cluster.")
    parser.add_argument(
        "--state",
        type=Path,
        default=Path(os.environ.get(STATE, "/run/coded-mr-cluster")),
        help=f"directory for what is known of the cluster (default: ${STATE}, or %(default)s)",
    )
    commands = parser.add_subparsers(required=True)
    make = commands.add_parser("create", help="make a cluster")
    make.set_defaults(act=_create)
    make.add_argument("-n", "--hosts", type=int, default=8, help="hosts on the switch (default %(default)s)")
    make.add_argument("--fat-tree", type=int, metavar="T", help="a fat tree of this arity, T^3/4 hosts")
    make.add_argument("-m", "--mode", choices=MODES, default="switch", help="(default %(default)s)")
    make.add_argument("--snooping", action="store_true", help="multicasts come down to members only")
    make.add_argument(
        "-r", "--rate", default="100mbit", help="of each link, or the bus (default %(default)s)"
    )
    make.add_argument("--burst", default="16kb", help="256kb for rates near 1gbit (default %(default)s)")
    make.add_argument(
        "--queue", default="50ms", help="how long a frame may wait before it is dropped (default %(default)s)"
    )
    make.add_argument("--slots", type=int, default=1, help="ranks that fit a host (default %(default)s)")
    run = commands.add_parser("run", help="run a command on a host")
    run.set_defaults(act=_run)
    run.add_argument("host")
    run.add_argument("command", nargs=argparse.REMAINDER)
    across = commands.add_parser("mpirun", help="run an MPI job across the hosts")
    across.set_defaults(act=_mpirun)
    across.add_argument("-n", "--ranks", type=int, help="(default: one a slot)")
    across.add_argument("--python", default=sys.executable, help="whose MPI (default: this one's)")
    across.add_argument("command", nargs=argparse.REMAINDER)
    count = commands.add_parser("bytes", help="print the bytes that crossed each link")
    count.set_defaults(act=_bytes)
    count.add_argument("--json", action="store_true", help="as JSON: [from, to, bytes]")
    fail = commands.add_parser("crash", help="kill everything on a host at once")
    fail.set_defaults(act=_crash)
    fail.add_argument("host")
    commands.add_parser("destroy", help="take it down, if it is up").set_defaults(act=_destroy)
    return parser


def _create(options: argparse.Namespace) -> int:
    tree = options.fat_tree
    flat = star(options.hosts, options.mode, snooping=options.snooping)
    layout = flat if tree is None else fat_tree(tree)
    rate = None if options.mode == "none" else options.rate
    cluster = create(
        options.state, layout, rate, burst=options.burst, queue=options.queue, slots=options.slots
    )
    what = f"{options.mode} at {rate}" if tree is None else f"fat tree of arity {tree} at {rate}"
    print(f"{len(cluster.hosts)} hosts, {what}: {cluster.names}")
    return 0


def _run(options: argparse.Namespace) -> int:
    return _become(enter(Cluster.load(options.state), options.host, options.command or ["sh"]))


def _mpirun(options: argparse.Namespace) -> int:
    cluster = Cluster.load(options.state)
    mpirun = find_mpirun(os.environ, options.python)
    ranks = options.ranks or len(cluster.hosts) * cluster.slots
    return _become(job(cluster, mpirun, ranks, options.command))


def _become(command: list[str]) -> int:
    os.execvpe(command[0], command, environment())


def _bytes(options: argparse.Namespace) -> int:
    sent = link_bytes(Cluster.load(options.state))
    if options.json:
        print(json.dumps([[*link, count] for link, count in sent.items()]))
        return 0
    for (tail, head), count in sent.items():
        print(f"{tail:>8} -> {head:<8} {count:>15,}" if tail != head else f"{tail:>20} {count:>15,}")
    return 0


def _crash(options: argparse.Namespace) -> int:
    crash(Cluster.load(options.state), options.host)
    return 0


def _destroy(options: argparse.Namespace) -> int:
    print("destroyed" if destroy(options.state) else f"no cluster in {options.state}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
