"""Say where the ranks of a world are in the network."""

from __future__ import annotations

from collections.abc import Sequence

from coded_mr.doctor.finding import Finding
from coded_mr.errors import UsageError
from coded_mr.text import counted
from coded_mr.topology import Address, Sites, sites_of

__all__ = ["where"]

_SHOWN = 16


def where(addresses: Sequence[Address], topology: str) -> Finding:
    """Find the host of each rank in a topology, and the switches above it."""
    try:
        sites = sites_of(addresses, topology)
    except UsageError as error:
        return Finding("error", f"--topology {topology} does not help", str(error))
    ranks: dict[tuple[str, ...], list[str]] = {}
    for rank, climb in enumerate(sites.climbs):
        ranks.setdefault(climb, []).append(str(rank))
    lines = [
        f"{' below '.join(climb)}: rank{'s' if len(own) > 1 else ''} {', '.join(own)}"
        for climb, own in list(ranks.items())[:_SHOWN]
    ]
    lines += [f"and {counted(len(ranks) - _SHOWN, 'host')} more"] if len(ranks) > _SHOWN else []
    return Finding("ok", f"network: {_size(sites)}; {'; '.join(lines)}")


def _size(sites: Sites) -> str:
    tree, used = sites.tree, len(set(sites.hosts))
    return f"{counted(used, 'host')} of {len(tree.hosts)} at {counted(len(tree.below), 'switch')}"
