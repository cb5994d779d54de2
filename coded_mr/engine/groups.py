"""Communicators, one for each multicast group S, made fast and kept within the MPI's limit.

Making a communicator is collective over its members only, and free of deadlock because every rank walks
the same order. The plan's packets begin in rounds of disjoint groups, so that the members' next free
context ids agree at once. A helper is in no group: its packet enters S at one member, so C(Q, r+1)
communicators serve any number of helpers.
"""

from __future__ import annotations

from mpi4py import MPI

__all__ = ["Groups"]


class Groups:
    """Hold the communicators of one epoch's groups that this rank is in.

    Use as a context manager: leaving frees them.
    """

    def __init__(self, world: MPI.Intracomm) -> None:
        """Start without any."""
        self._comms: dict[tuple[int, ...], MPI.Intracomm] = {}
        self._world = world

    def make(self, group: tuple[int, ...]) -> None:
        """Make the communicator of a group that this rank is in; collective over its members.

        All ranks make those that they are in in one order.
        """
        everyone = self._world.Get_group()
        members = everyone.Incl(group)
        self._comms[group] = self._world.Create_group(members)
        members.Free()
        everyone.Free()

    def __enter__(self) -> Groups:
        """Return itself."""
        return self

    def __exit__(self, failed: type[BaseException] | None, *rest: object) -> None:
        """Free the communicators, unless this rank failed: the others would not follow it here."""
        if failed is None:
            self.free()

    def __len__(self) -> int:
        """Return how many groups this rank is in."""
        return len(self._comms)

    def __getitem__(self, group: tuple[int, ...]) -> MPI.Intracomm:
        """Return the communicator of a group; its ranks are the positions in the group."""
        return self._comms[group]

    def free(self) -> None:
        """Free all communicators; each is collective over its members, at the same place in the schedule."""
        while self._comms:
            _, comm = self._comms.popitem()
            comm.Free()
