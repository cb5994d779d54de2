"""Where the ranks of a world are in the network: from a file, from Slurm, or by their hosts alone."""

from __future__ import annotations

from mpi4py import MPI

from coded_mr.engine.waiting import broadcast, gather
from coded_mr.topology import Sites, own_address, sites_of

__all__ = ["find_sites"]


def find_sites(world: MPI.Intracomm, topology: str | None) -> Sites:
    """Return where each rank is; collective.

    `topology` is a file as `topology.conf` reads it, "slurm", or None: all hosts at one switch. Raises
    UsageError on rank 0 for a file that is wrong, hosts that are not in it, and a Slurm that does not tell.
    """
    addresses = gather(world, own_address())
    return broadcast(world, (lambda: sites_of(addresses, topology)) if addresses is not None else None)
