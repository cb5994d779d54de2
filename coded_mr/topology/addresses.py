"""What processes are told of where they are, and where that is in a network."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from coded_mr.errors import UsageError
from coded_mr.topology.conf import tree_of_addresses
from coded_mr.topology.sites import Sites, locate
from coded_mr.topology.source import read_topology

__all__ = ["Address", "own_address", "sites_of"]


@dataclass(frozen=True)
class Address:
    """What a rank's process is told of where it is: its host, and by Slurm its node and the way there."""

    host: str
    node: str | None
    topology: str | None


def own_address() -> Address:
    """Return what this process is told."""
    env = os.environ
    return Address(socket.gethostname(), env.get("SLURMD_NODENAME"), env.get("SLURM_TOPOLOGY_ADDR"))


def sites_of(addresses: Sequence[Address], topology: str | None) -> Sites:
    """Return where ranks with these addresses are.

    `topology` is a file as `topology.conf` reads it, "slurm", or None: all hosts at one switch. Raises
    UsageError for a file that is wrong, hosts that are not in it, and a Slurm that does not tell.
    """
    names = _names(addresses)
    if topology is None:
        return Sites.on_one_switch([own[0] for own in names])
    tree = read_topology(topology)
    return locate(tree_of_addresses(_told(addresses, names)) if tree is None else tree, names)


def _names(addresses: Sequence[Address]) -> list[tuple[str, ...]]:
    """Return each rank's names, the likeliest first: its host's, then that of its node in Slurm.

    Launchers other than srun may hand the first node's environment to all hosts: then it names none.
    """
    hosts_of: dict[str, set[str]] = {}
    for address in addresses:
        if address.node is not None:
            hosts_of.setdefault(address.node, set()).add(address.host)
    return [
        (a.host, a.node) if a.node is not None and len(hosts_of[a.node]) == 1 else (a.host,)
        for a in addresses
    ]


def _told(addresses: Sequence[Address], names: Sequence[Sequence[str]]) -> dict[str, str]:
    """Return the SLURM_TOPOLOGY_ADDR of each host, by its name in Slurm."""
    told: dict[str, str] = {}
    for rank, (address, own) in enumerate(zip(addresses, names, strict=True)):
        if address.topology is None:
            raise UsageError(
                f"there is no scontrol here, and no SLURM_TOPOLOGY_ADDR at rank {rank} on {address.host}: "
                "start the ranks with srun, or give a file that describes the network"
            )
        told[own[-1]] = address.topology
    return told
