"""Messages from one rank to another, as all transports over MPI send them: tags, and payloads in parts."""

from __future__ import annotations

from mpi4py import MPI

from coded_mr.engine.multicast.transport import Array
from coded_mr.engine.waiting import CHUNK

__all__ = ["Direct", "control_tag", "joined_tag"]


class Direct:
    """Send and receive what belongs to a packet, in messages of at most `chunk` bytes."""

    def __init__(self, world: MPI.Intracomm, chunk: int = CHUNK) -> None:
        """Use a communicator on which nobody else takes these tags."""
        self._world = world
        self._chunk = chunk
        # Packets between the same two ranks that are under way at once have different tags.
        self._tags = joined_tag()

    def parts(self, payload: Array) -> list[Array]:
        """Return a payload cut into messages."""
        return [payload[start : start + self._chunk] for start in range(0, payload.size, self._chunk)]

    def send(self, part: Array, rank: int, number: int) -> MPI.Request:
        """Start to send a part of a packet."""
        return self._world.Isend(part, rank, number % self._tags)

    def receive(self, part: Array, rank: int, number: int) -> MPI.Request:
        """Start to receive a part of a packet; its parts come in the order in which they were sent."""
        return self._world.Irecv(part, rank, number % self._tags)


def control_tag() -> int:
    """Return the tag of `Control`; MPI tells the largest one of its first communicator only."""
    most = MPI.COMM_WORLD.Get_attr(MPI.TAG_UB)
    assert isinstance(most, int)
    return most


def joined_tag() -> int:
    """Return the tag of joined packets, above those of packets that travel alone."""
    return control_tag() - 1
