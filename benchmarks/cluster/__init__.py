"""An emulated cluster on one Linux machine: `python -m benchmarks.cluster create|run|mpirun|bytes|destroy`.

Every host has its own network, UTS, mount, IPC and PID namespace and one interface, eth0. The network between
them is limited like a real one: a switch with full-duplex links, one shared bus, or a fat tree of routers.
Needs root, and Linux with tbf queues; `lacking` says what is not there.
"""

from __future__ import annotations

from benchmarks.cluster.builder import crash, create, destroy
from benchmarks.cluster.counters import Count, link_bytes, link_counts
from benchmarks.cluster.launching import enter, job
from benchmarks.cluster.layout import Cable, Layout, fat_tree, star
from benchmarks.cluster.needs import ClusterError, lacking
from benchmarks.cluster.state import HEAD, Cluster

__all__ = [
    "HEAD",
    "Cable",
    "Cluster",
    "ClusterError",
    "Count",
    "Layout",
    "crash",
    "create",
    "destroy",
    "enter",
    "fat_tree",
    "job",
    "lacking",
    "link_bytes",
    "link_counts",
    "star",
]
