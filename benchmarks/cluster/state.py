"""What is known of a cluster that is up: a directory of small files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cluster.layout import Cable
from benchmarks.cluster.needs import ClusterError

__all__ = ["HEAD", "Cluster", "Process", "nodes_directory"]

HEAD = "head"


@dataclass(frozen=True)
class Process:
    """Name a process for good: its id, and when it started, in ticks since the machine did."""

    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> Process:
        """Look a process up. Raises ProcessLookupError when there is none, or what is left of a dead one."""
        try:
            status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError as error:
            raise ProcessLookupError(pid) from error
        fields = status.rpartition(")")[2].split()
        if fields[0] in "ZX":
            raise ProcessLookupError(pid)
        return cls(pid, int(fields[19]))

    @property
    def alive(self) -> bool:
        """Tell whether this very process still runs."""
        try:
            return Process.of(self.pid) == self
        except ProcessLookupError:
            return False


@dataclass(frozen=True)
class Cluster:
    """Describe a cluster: where its state is, its hosts in order, the cables, and the bus if it has one."""

    state: Path
    hosts: tuple[str, ...]
    slots: int
    cables: tuple[Cable, ...]
    bus: str | None

    @property
    def nodes(self) -> tuple[str, ...]:
        """Return all that cables join: hosts, the head and what is between them."""
        return tuple(dict.fromkeys(node for cable in self.cables for node in (cable.a, cable.b)))

    @property
    def hosts_file(self) -> Path:
        """Return what is /etc/hosts on every host."""
        return self.state / "hosts"

    @property
    def agent(self) -> Path:
        """Return the program that MPI launchers call instead of ssh: HOST COMMAND."""
        return self.state / "agent"

    def process(self, node: str) -> Process:
        """Return the process that holds a node's namespaces.

        Raises ClusterError when there is no such node, or it is down.
        """
        try:
            process = Process(*map(int, (nodes_directory(self.state) / node).read_text().split()))
        except FileNotFoundError as error:
            raise ClusterError(f"the cluster in {self.state} has no host {node}: {self.names}") from error
        if not process.alive:
            raise ClusterError(f"{node} of the cluster in {self.state} is down: destroy the cluster")
        return process

    @property
    def names(self) -> str:
        """Return the hosts' names for people."""
        return ", ".join((HEAD, *self.hosts))

    def save(self) -> None:
        """Write what `load` reads."""
        document = {
            "hosts": self.hosts,
            "slots": self.slots,
            "cables": [[c.a, c.a_port, c.b, c.b_port, c.limited] for c in self.cables],
            "bus": self.bus,
        }
        (self.state / "cluster.json").write_text(json.dumps(document))

    @classmethod
    def load(cls, state: Path) -> Cluster:
        """Return the cluster whose state is there. Raises ClusterError when none is."""
        try:
            document = json.loads((state / "cluster.json").read_text())
        except (FileNotFoundError, NotADirectoryError) as error:
            raise ClusterError(f"there is no cluster in {state}: create it first") from error
        return cls(
            state=state,
            hosts=tuple(document["hosts"]),
            slots=document["slots"],
            cables=tuple(Cable(*cable) for cable in document["cables"]),
            bus=document["bus"],
        )


def nodes_directory(state: Path) -> Path:
    """Return where each node has a file with the id and start of the process that holds its namespaces."""
    return state / "nodes"
