"""The bytes that crossed each link, as the interfaces counted them."""

from __future__ import annotations

import json

from benchmarks.cluster.layout import BUS
from benchmarks.cluster.needs import call
from benchmarks.cluster.state import Cluster

__all__ = ["link_bytes"]


def link_bytes(cluster: Cluster) -> dict[tuple[str, str], int]:
    """Return the bytes that left each node on each cable since the cluster is up, by (from, to).

    Frames with their Ethernet headers. With a shared bus ("bus", "bus") counts every frame of a host once,
    however many hosts it went to.
    """
    sent: dict[tuple[str, str], int] = {}
    interfaces = {node: _interfaces(cluster, node) for node in cluster.nodes}
    for cable in cluster.cables:
        sent[cable.a, cable.b] = interfaces[cable.a][cable.a_port]
        sent[cable.b, cable.a] = interfaces[cable.b][cable.b_port]
    if cluster.bus is not None:
        sent["bus", "bus"] = interfaces[cluster.bus][BUS]
    return sent


def _interfaces(cluster: Cluster, node: str) -> dict[str, int]:
    """Return what each interface of a node has sent."""
    inside = ["nsenter", "-t", str(cluster.process(node).pid), "-n"]
    found = json.loads(call([*inside, "ip", "-j", "-s", "link", "show"]))
    return {link["ifname"]: int(link["stats64"]["tx"]["bytes"]) for link in found}
