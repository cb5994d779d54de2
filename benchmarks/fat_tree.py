"""What the links of an emulated fat tree carry for coded shuffles, beside what is computed for them.

`python -m benchmarks.fat_tree [-o FILE]`: a tree of arity 4, 16 hosts and 20 routers, one rank a host. Every
plan is seen three times: its packets as datagrams that the routers copy (`benchmarks.cluster.replay`), and as
a sort of real records whose packets the hosts relay, or send to each receiver. Takes some minutes.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from pathlib import Path

from benchmarks.cluster import Cluster, create, destroy, fat_tree, lacking
from benchmarks.cluster.replay import Replay, replay
from benchmarks.cluster.tree_jobs import LEVELS, Inputs, LineLoads, Trial, switch_tree
from coded_mr.errors import CodedMRError
from coded_mr.launch import find_mpirun
from coded_mr.plan.model import Plan
from coded_mr.plan.schemes import cascaded, solver_helper, symmetric
from coded_mr.theory.fat_tree import FatTree, busiest_link
from coded_mr.theory.tradeoff import cascaded_load
from coded_mr.topology import level_maxima

__all__ = ["main"]

# Long enough that nothing overflows: what TCP sends again would be counted on the lines before a busy one.
_QUEUE = "2000ms"
_ARITY = 4
_RATE = "100mbit"
_DATAGRAM_RATE = 1e6  # bytes a second of each host: no queue overflows where several meet
_TRANSPORTS = ("relay", "unicast")


_PAGE = """\
# Coded shuffles on a fat tree

`python -m benchmarks.fat_tree`: an emulated fat tree of arity {arity}, {hosts} hosts, links of {rate}.
Loads over all intermediate values (QNT): computed / read from the links' counters. *Off* is the largest
deviation of any link, from its own computed load; of datagrams, as a share of the busiest one's.

## Routers copy multicasts

Every packet of the plan, piece by piece as in the paper, over static multicast routes. The busiest cable,
both directions together, carries D = (L\\* + s(1 - r/K))/K, and not L\\* as a shared medium would.

| plan | packets | L\\* | D | server-edge | edge-aggregation | aggregation-core | off |
|---|---|---|---|---|---|---|---|
{routers}

## Hosts relay or copy

TeraSort of {megabytes:g} MB, its output checked. The busiest line of each level in one direction; the cables
between two switches, among which a hash spreads connections, count as one line. Each line is freed of frame
headers, and of what the same plan takes for a quarter of the records: start-up, control messages and message
headers drop out. Packets are as long as padding made them; queues as long as needed for TCP to send nothing
twice.

| plan | transport | {levels} | off |
|---|---|---|---|---|---|
{jobs}

## Parts at the ranks that suit the network

The same sort by {helped}, `unicast`, without and with `--topology`:

| parts | all lines together | busiest line | off |
|---|---|---|---|
{placement}
"""


@dataclass(frozen=True)
class _Case:
    """Name a plan in which all hosts are alike, by r and s."""

    r: int
    s: int

    def plan(self, hosts: int) -> Plan:
        """Return the plan."""
        if self.s == 1:
            return symmetric(hosts, hosts, self.r)
        return cascaded(comb(hosts, self.s), hosts, self.r, self.s)

    def options(self, hosts: int) -> list[str]:
        """Return the options of `run` that make it."""
        return _options(comb(hosts, self.s), self.r, "symmetric" if self.s == 1 else "cascaded") + (
            ["-s", str(self.s)] if self.s > 1 else []
        )

    def __str__(self) -> str:
        """Return what people call it."""
        return f"cascaded r={self.r} s={self.s}" if self.s > 1 else f"symmetric r={self.r}"


@dataclass(frozen=True)
class _Result:
    case: _Case
    packets: int
    routers: Replay
    jobs: dict[str, LineLoads]


_CASES = (_Case(1, 1), _Case(2, 1), _Case(2, 2))
_HELPED = (8, 2, 4)  # solvers, r, helpers


def _options(partitions: int, r: int, scheme: str) -> list[str]:
    return ["-p", str(partitions), "-r", str(r), "--scheme", scheme, "--costs", "1,1,1"]


def main(words: Sequence[str]) -> int:
    """Measure and print or write the table; returns the exit status."""
    summary = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fat_tree", description=summary)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the table there, too")
    parser.add_argument(
        "--records", type=int, default=160_000, help="of 100 bytes each (default %(default)s)"
    )
    options = parser.parse_args(list(words))
    reason = lacking()
    if reason is not None:
        print(f"no cluster can be emulated here: {reason}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as made:
        scratch = Path(made)
        try:
            cluster = create(scratch / "cluster", fat_tree(_ARITY), _RATE, queue=_QUEUE)
            page = _page(cluster, scratch, options.records)
        except CodedMRError as error:
            print(f"error: {error}", file=sys.stderr)
            return error.exit_status
        finally:
            destroy(scratch / "cluster")
    if options.output is not None:
        options.output.write_text(page)
    print(page, end="")
    return 0


def _page(cluster: Cluster, scratch: Path, records: int) -> str:
    """Carry every plan out on the tree and return what is written of them."""
    inputs = Inputs.make(scratch, records)
    trial = Trial(cluster, switch_tree(_ARITY), find_mpirun(os.environ), scratch)
    results = [_measure(case, cluster, trial, inputs) for case in _CASES]
    solvers, r, helpers = _HELPED
    helped = f"{solvers} solvers and {helpers} helpers with r={r}, on {len(cluster.hosts)} hosts"
    print(helped, file=sys.stderr, flush=True)
    plan = solver_helper(solvers, solvers, r, helpers)
    words = [*_options(solvers, r, "solver-helper"), "--helpers", str(helpers)]
    numbered, placed = (
        trial.loads(plan, words, "unicast", inputs, placed=placed) for placed in (False, True)
    )
    return _PAGE.format(
        arity=_ARITY,
        hosts=len(cluster.hosts),
        rate=_RATE,
        megabytes=inputs.much.stat().st_size / 1e6,
        levels=" | ".join(LEVELS),
        routers="\n".join(_routers_row(found, len(cluster.hosts)) for found in results),
        jobs="\n".join(
            _job_row(f"{found.case} | `{transport}`", loads)
            for found in results
            for transport, loads in found.jobs.items()
        ),
        helped=helped,
        placement="\n".join((_placement_row("as numbered", numbered), _placement_row("placed", placed))),
    )


def _measure(case: _Case, cluster: Cluster, trial: Trial, inputs: Inputs) -> _Result:
    plan = case.plan(len(cluster.hosts))
    print(plan.describe(), file=sys.stderr, flush=True)
    routers = replay(cluster, fat_tree(_ARITY), plan, FatTree(_ARITY), rate=_DATAGRAM_RATE, times=1)
    options = case.options(len(cluster.hosts))
    jobs = {name: trial.loads(plan, options, name, inputs) for name in _TRANSPORTS}
    return _Result(case, len(plan.packets), routers, jobs)


def _routers_row(found: _Result, hosts: int) -> str:
    case, routers = found.case, found.routers
    pairs = [
        (float(computed.both), _most_carried(routers, computed.level))
        for computed in level_maxima(routers.computed)
    ]
    theory = (cascaded_load(hosts, case.r, case.s), busiest_link(hosts, case.r, case.s))
    cells = [*(f"{float(value):.4f}" for value in theory), *map(_pair, pairs)]
    return f"| {case} | {found.packets:,} | {' | '.join(cells)} | {routers.deviation:.1%} |"


def _most_carried(found: Replay, level: str) -> float:
    """Return what the busiest cable of a level carried, both directions together."""
    ups = [link for link in found.carried if link.up and link.level == level]
    return max(found.carried[link] + found.carried[link.reverse] for link in ups)


def _job_row(name: str, loads: LineLoads) -> str:
    cells = " | ".join(_pair(loads.most(level)) for level in LEVELS)
    return f"| {name} | {cells} | {loads.deviation:.1%} |"


def _placement_row(name: str, loads: LineLoads) -> str:
    busiest = max(loads.computed.values()), max(loads.carried.values())
    return f"| {name} | {_pair(loads.totals)} | {_pair(busiest)} | {loads.deviation:.1%} |"


def _pair(pair: tuple[float, float]) -> str:
    return f"{pair[0]:.4f} / {pair[1]:.4f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
