"""Send a plan's packets through an emulated fat tree, and compare its links with what was computed.

`python -m benchmarks.cluster.replay [-t T] [-r R] [-s S]`: every server of a t-ary tree maps, sends and
reduces. Every piece of every packet is a datagram of its own, of a size in proportion to its load, to a
multicast group whose route is that of `coded_mr.topology.route`. The contents are zeros: only bytes count.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from pathlib import Path

from benchmarks.cluster import multicast_router, multicast_sender
from benchmarks.cluster.builder import create, destroy
from benchmarks.cluster.counters import link_bytes
from benchmarks.cluster.layout import Layout, fat_tree
from benchmarks.cluster.needs import ClusterError
from benchmarks.cluster.state import Cluster
from coded_mr.errors import CodedMRError
from coded_mr.plan.model import Plan
from coded_mr.plan.schemes import cascaded
from coded_mr.theory.fat_tree import LEVELS, FatTree, busiest_link
from coded_mr.topology import Link, Node, flows, level_maxima, link_loads, pieces, positions, route

__all__ = ["Replay", "main", "node_name", "replay"]

_FRAME = 1442
_GROUPS = 1 << 24


@dataclass(frozen=True)
class Replay:
    """Hold, for every link, the load computed and the load carried: bytes over those that stand for QNT."""

    computed: dict[Link, Fraction]
    carried: dict[Link, float]

    @property
    def deviation(self) -> float:
        """Return by how much of the busiest link's load any link is off."""
        most = max(self.computed.values())
        return max(abs(self.carried[link] - float(load)) for link, load in self.computed.items()) / float(
            most
        )


def node_name(node: Node, tree: FatTree) -> str:
    """Return what a node is called in the emulated tree."""
    if node.kind == "server":
        return f"h{node.pod * tree.half**2 + node.number}"
    return f"c{node.number}" if node.kind == "core" else f"{node.kind[0]}{node.pod}-{node.number}"


def replay(cluster: Cluster, layout: Layout, plan: Plan, tree: FatTree, *, rate: float, times: int) -> Replay:
    """Send every packet of a plan `times` times, each host at `rate` bytes a second, and count.

    Rank k is host k. `layout` is what the cluster was made of. Raises ClusterError when the routers cannot
    be set up.
    """
    table = _Table(plan, tree, layout)
    with ExitStack() as stack:
        for router, lines in table.routes.items():
            stack.enter_context(_routing(cluster, router, lines))
        before = link_bytes(cluster)
        senders = [
            stack.enter_context(_feeding(cluster, host, multicast_sender.__file__, lines * times, str(rate)))
            for host, lines in table.datagrams.items()
        ]
        for sender in senders:
            if sender.wait(timeout=120):
                raise ClusterError("a host could not send its datagrams")
        after = _settled(cluster)
    names = {link: (node_name(link.tail, tree), node_name(link.head, tree)) for link in table.computed}
    return Replay(
        table.computed,
        {link: (after[name] - before[name]) / (times * table.whole) for link, name in names.items()},
    )


class _Table:
    """What each router forwards where, what each host sends, and what the links should carry."""

    def __init__(self, plan: Plan, tree: FatTree, layout: Layout) -> None:
        self.computed = link_loads(plan, tree)
        self.routes: dict[str, list[str]] = defaultdict(list)
        self.datagrams: dict[str, list[str]] = defaultdict(list)
        sent, cut = flows(plan), list(pieces(tree))
        if not 0 < len(sent) * len(cut) < _GROUPS:
            raise ClusterError(f"a plan of {len(sent)} flows cannot be replayed: none, or too many groups")
        self.whole = _FRAME * len(cut) / float(max(sent.values()))  # bytes that stand for QNT
        where = positions(plan, tree)
        ports = {(c.a, c.b): c.a_port for c in layout.cables} | {(c.b, c.a): c.b_port for c in layout.cables}
        group = 0
        for (sender, receivers), load in sent.items():
            host = f"h{sender}"
            size = max(multicast_sender.HEADERS + 1, round(float(load) * self.whole / len(cut)))
            for piece in cut:
                group += 1
                address = f"239.{group >> 16}.{group >> 8 & 255}.{group & 255}"
                self.datagrams[host].append(f"{address} {size}\n")
                came: dict[str, str] = {}
                went: dict[str, list[str]] = defaultdict(list)
                for link in route(tree, where[sender], [where[k] for k in receivers], piece):
                    tail, head = node_name(link.tail, tree), node_name(link.head, tree)
                    came[head] = ports[head, tail]
                    went[tail].append(ports[tail, head])
                for router in came.keys() & went.keys():
                    line = f"{layout.addresses[host]} {address} {came[router]} {' '.join(went[router])}\n"
                    self.routes[router].append(line)


@contextmanager
def _feeding(
    cluster: Cluster, node: str, program: str, lines: list[str], *words: str
) -> Iterator[subprocess.Popen[str]]:
    """Run a program in a node's network with lines for its input; end it in the end."""
    with tempfile.TemporaryFile("w+") as listed:
        listed.writelines(lines)
        listed.seek(0)
        command = ["nsenter", "-t", str(cluster.process(node).pid), "-n", sys.executable, program, *words]
        with subprocess.Popen(command, stdin=listed, stdout=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.kill()


@contextmanager
def _routing(cluster: Cluster, router: str, lines: list[str]) -> Iterator[None]:
    """Have a router forward by these lines."""
    with _feeding(cluster, router, multicast_router.__file__, lines) as process:
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            raise ClusterError(
                f"router {router} takes no multicast routes: has this kernel CONFIG_IP_MROUTE?"
            )
        yield


def _settled(cluster: Cluster) -> dict[tuple[str, str], int]:
    """Return the counters once nothing moves any more."""
    now = link_bytes(cluster)
    while (later := link_bytes(cluster)) != now:
        now = later
    return now


def main(words: list[str]) -> int:
    """Replay cascaded CDC on a tree full of servers and print what each level carried."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster.replay")
    parser.add_argument("-t", "--arity", type=int, default=4)
    parser.add_argument("-r", type=int, default=2, help="computation load (default %(default)s)")
    parser.add_argument(
        "-s", type=int, default=1, help="servers that reduce a function (default %(default)s)"
    )
    parser.add_argument("--times", type=int, default=1, help="send every packet so often")
    options = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as scratch:
        state = Path(scratch) / "cluster"
        try:
            layout, tree = fat_tree(options.arity), FatTree(options.arity)
            plan = cascaded(comb(tree.hosts, options.s), tree.hosts, options.r, options.s)
            cluster = create(state, layout, "100mbit")
            found = replay(cluster, layout, plan, tree, rate=1e6, times=options.times)
        except CodedMRError as error:
            print(f"error: {error}", file=sys.stderr)
            return error.exit_status
        finally:
            destroy(state)
    _print(plan, found, busiest_link(tree.hosts, options.r, options.s))
    return 0


def _print(plan: Plan, found: Replay, bound: Fraction) -> None:
    print(f"{plan.describe()}; busiest cable by theory {float(bound):.6f} of QNT\n")
    print(f"{'largest of a level':<20}{'up':>22}{'down':>22}{'both':>22}")
    carried = level_maxima({link: Fraction(load) for link, load in found.carried.items()})
    for level, a, b in zip(LEVELS, level_maxima(found.computed), carried, strict=True):
        pairs = ((a.up, b.up), (a.down, b.down), (a.both, b.both))
        print(f"{level:<20}" + "".join(f"{float(x):>12.6f}{float(y):>10.6f}" for x, y in pairs))
    print(f"\ncomputed, carried; no link is off by more than {found.deviation:.2%} of the busiest one's load")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
