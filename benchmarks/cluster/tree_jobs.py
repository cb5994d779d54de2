"""Jobs on an emulated fat tree, and what they put on its lines beside what was computed.

A line is what joins a host to its edge switch, an edge switch to its pod, or a pod to the cores, in one
direction, all cables between the two taken together: TCP connections choose among them by a hash.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cluster.counters import Count, link_counts
from benchmarks.cluster.launching import environment, job
from benchmarks.cluster.needs import ClusterError
from benchmarks.cluster.state import Cluster
from coded_mr.launch import Mpirun
from coded_mr.plan.model import Plan
from coded_mr.plan.relabel import relabelled
from coded_mr.plan.verify import verify
from coded_mr.terasort.kinds import make_records
from coded_mr.terasort.validate import checksum_of, validate
from coded_mr.topology import Line, Sites, SwitchTree, Travel, line_loads, place, text_of

__all__ = ["LEVELS", "Inputs", "LineLoads", "Trial", "level_of", "switch_tree"]

LEVELS = ("host-edge", "edge-pod", "pod-cores")
_TRAVELS: dict[str, Travel] = {"relay": "relay", "unicast": "copies"}
"""How the packets of a transport travel, as `line_loads` computes them."""

_TOP = "cores"
_HEADERS = (
    14 + 20 + 32
)  # Ethernet, IPv4, TCP with timestamps: of every frame, and all of one that only acknowledges
_SECONDS = 120


def switch_tree(t: int) -> SwitchTree:
    """Return the emulated t-ary fat tree without its parallel ways: hosts, edge switches, pods, cores."""
    half = t // 2
    edges = [(pod, edge) for pod in range(t) for edge in range(half)]
    above = {
        f"h{number * half + slot}": f"e{pod}-{edge}"
        for number, (pod, edge) in enumerate(edges)
        for slot in range(half)
    }
    hosts = tuple(above)
    above |= {f"e{pod}-{edge}": f"pod{pod}" for pod, edge in edges}
    return SwitchTree(hosts, above | {f"pod{pod}": _TOP for pod in range(t)})


def level_of(line: Line) -> str:
    """Return which of LEVELS a line is of."""
    kinds = {line.tail[0], line.head[0]}
    return LEVELS[0 if "h" in kinds else 1 if "e" in kinds else 2]


@dataclass(frozen=True)
class LineLoads:
    """Hold what each line carried over QNT, beside what was computed for it."""

    computed: dict[Line, float]
    carried: dict[Line, float]

    @property
    def deviation(self) -> float:
        """Return by how much of its computed load any line is off; lines that should be idle do not count."""
        return max(abs(self.carried[line] / load - 1) for line, load in self.computed.items() if load)

    @property
    def totals(self) -> tuple[float, float]:
        """Return what was computed for all lines together, and what they carried."""
        return sum(self.computed.values()), sum(self.carried.values())

    def most(self, level: str) -> tuple[float, float]:
        """Return the largest computed load of a level, and the largest carried."""
        here = [line for line in self.computed if level_of(line) == level]
        return max(self.computed[line] for line in here), max(self.carried[line] for line in here)


@dataclass(frozen=True)
class Inputs:
    """Name two files of records, the second with enough of them that no value of the plan is empty."""

    much: Path
    little: Path

    @classmethod
    def make(cls, scratch: Path, records: int) -> Inputs:
        """Write so many records, and a quarter of them."""
        files = scratch / "much", scratch / "little"
        for path, count in zip(files, (records, records // 4), strict=True):
            path.write_bytes(make_records("uniform", 0, count).tobytes())
        return cls(*files)


@dataclass(frozen=True)
class _Run:
    """What a run sent in payloads, and what each line carried, in bytes."""

    coded_bytes: int
    lines: dict[Line, int]


@dataclass(frozen=True)
class Trial:
    """Sort on an emulated fat tree, a rank on each host, and count.

    `scratch` is a directory that all hosts share; `python` the interpreter that the ranks run.
    """

    cluster: Cluster
    tree: SwitchTree
    mpirun: Mpirun
    scratch: Path
    python: str = sys.executable

    def loads(
        self, plan: Plan, options: Sequence[str], transport: str, inputs: Inputs, *, placed: bool = True
    ) -> LineLoads:
        """Return the loads of a sort with these options of `run`, which must make that plan.

        `placed`: the job knows the network, and gives parts to the ranks that suit it. What starting it,
        control messages and message headers take is seen in a sort of little by the same plan, and taken
        off; of frames only what is in TCP counts. Packets are as long as they were: padding makes them
        longer than the plan says, on every line alike. Raises ClusterError when a run fails or sorts wrongly.
        """
        sites = Sites(self.tree, self.cluster.hosts)
        words = [*options, "--transport", transport]
        if placed:
            network = self.scratch / "topology.conf"
            network.write_text(text_of(self.tree))
            plan = relabelled(plan, place(plan, sites).ranks)
            words += ["--topology", str(network)]
        loads = line_loads(plan, sites, _TRAVELS[transport])
        few, many = self._run(words, inputs.little), self._run(words, inputs.much)
        whole = inputs.much.stat().st_size - inputs.little.stat().st_size
        padding = (many.coded_bytes - few.coded_bytes) / (whole * float(verify(plan).load))
        return LineLoads(
            {line: float(load) * padding for line, load in loads.items()},
            {line: (many.lines[line] - few.lines[line]) / whole for line in loads},
        )

    def _run(self, options: Sequence[str], data: Path) -> _Run:
        out, report = self.scratch / "sorted", self.scratch / "report.json"
        words = ["run", "jobs/terasort.py", str(data), "-o", str(out), "--overwrite", "--json", str(report)]
        command = [self.python, "-m", "coded_mr", *words, *options]
        ranks = len(self.cluster.hosts)
        before = link_counts(self.cluster)
        done = subprocess.run(
            ["timeout", "-k", "5", str(_SECONDS), *job(self.cluster, self.mpirun, ranks, command)],
            env=environment(),
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode:
            raise ClusterError(
                f"a job on the tree ended with status {done.returncode}: {done.stderr.strip()}"
            )
        lines = _by_line(before, _settled(self.cluster))
        found, summary = validate([out]), json.loads(report.read_text())
        if not found.sorted or found.checksum != checksum_of(data):
            raise ClusterError(f"a job on the tree did not sort {data}: {' '.join(options)}")
        return _Run(summary["measured"]["coded_bytes"] - summary["measured"]["header_bytes"], lines)


def _settled(cluster: Cluster) -> dict[tuple[str, str], Count]:
    """Return the counters once nothing moves any more."""
    now = link_counts(cluster)
    while (later := link_counts(cluster)) != now:
        now = later
    return now


def _by_line(before: dict[tuple[str, str], Count], after: dict[tuple[str, str], Count]) -> dict[Line, int]:
    """Return the bytes within TCP that each line carried, its cables together."""
    carried: Counter[Line] = Counter()
    for (tail, head), count in after.items():
        if "head" in (tail, head):
            continue
        was = before[tail, head]
        inside = count.bytes - was.bytes - _HEADERS * (count.frames - was.frames)
        carried[Line(_place(tail), _place(head))] += inside
    return dict(carried)


def _place(node: str) -> str:
    """Return what a node of the emulated network is in the tree."""
    if node[0] == "a":
        return f"pod{node[1:].partition('-')[0]}"
    return _TOP if node[0] == "c" else node
