"""Which ranks share a host."""

from __future__ import annotations

from mpi4py import MPI

__all__ = ["hosts_of"]


def hosts_of(world: MPI.Intracomm) -> tuple[int, ...]:
    """Return the host of every rank, as a number, from 0 in the order of their first ranks; collective."""
    host = world.Split_type(MPI.COMM_TYPE_SHARED)
    firsts: list[int] = world.allgather(host.bcast(world.rank))
    host.Free()
    numbers = {first: number for number, first in enumerate(sorted(set(firsts)))}
    return tuple(numbers[first] for first in firsts)
