"""What crossed each link, as the interfaces counted it."""

from __future__ import annotations

import json
from typing import NamedTuple

from benchmarks.cluster.layout import BUS
from benchmarks.cluster.needs import call
from benchmarks.cluster.state import Cluster

__all__ = ["Count", "link_bytes", "link_counts"]


class Count(NamedTuple):
    """Count frames, and their bytes with Ethernet headers."""

    bytes: int
    frames: int


def link_bytes(cluster: Cluster) -> dict[tuple[str, str], int]:
    """Return the bytes of `link_counts`."""
    return {link: count.bytes for link, count in link_counts(cluster).items()}


def link_counts(cluster: Cluster) -> dict[tuple[str, str], Count]:
    """Return what left each node on each cable since the cluster is up, by (from, to).

    With a shared bus ("bus", "bus") counts every frame of a host once, however many hosts it went to.
    """
    sent: dict[tuple[str, str], Count] = {}
    interfaces = {node: _interfaces(cluster, node) for node in cluster.nodes}
    for cable in cluster.cables:
        sent[cable.a, cable.b] = interfaces[cable.a][cable.a_port]
        sent[cable.b, cable.a] = interfaces[cable.b][cable.b_port]
    if cluster.bus is not None:
        sent["bus", "bus"] = interfaces[cluster.bus][BUS]
    return sent


def _interfaces(cluster: Cluster, node: str) -> dict[str, Count]:
    """Return what each interface of a node has sent."""
    inside = ["nsenter", "-t", str(cluster.process(node).pid), "-n"]
    found = json.loads(call([*inside, "ip", "-j", "-s", "link", "show"]))
    sent = {link["ifname"]: link["stats64"]["tx"] for link in found}
    return {name: Count(int(count["bytes"]), int(count["packets"])) for name, count in sent.items()}
