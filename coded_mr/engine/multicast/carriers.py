"""The transports by name, and what each needs for as long as a job runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mpi4py import MPI

from coded_mr.engine.epochs import Epoch, epochs
from coded_mr.engine.groups import Groups
from coded_mr.engine.multicast.groups import GroupTransport
from coded_mr.engine.multicast.link import SharedLink
from coded_mr.engine.multicast.transport import Transport
from coded_mr.engine.multicast.unicast import UnicastTransport
from coded_mr.engine.waiting import CHUNK
from coded_mr.plan.model import Packet

if TYPE_CHECKING:
    from coded_mr.engine.multicast.channel import Channel
    from coded_mr.topology import Sites

__all__ = ["AUTO", "TRANSPORTS", "Carrier"]

TRANSPORTS = ("groups", "unicast", "ip", "relay")
AUTO = "auto"


class Carrier:
    """Make the transports of one kind, shuffle after shuffle.

    `name` is the kind, `channel` what an `ip` one multicasts on.
    """

    def __init__(
        self,
        name: str = "groups",
        channel: Channel | None = None,
        *,
        segment: int = CHUNK,
        sites: Sites | None = None,
    ) -> None:
        """Use `open_carrier`, which tries the channel of `ip` and finds the sites for `relay`.

        `segment` bounds a broadcast, in bytes.
        """
        self.name = name
        self._segment = segment
        self.channel = channel
        self._sites = sites

    @property
    def in_order(self) -> bool:
        """Tell whether a group's packets must be taken up in the order of the schedule."""
        return self.name == "groups"

    def epochs(self, packets: Sequence[Packet], max_live: int, *, one_sender: bool = False) -> list[Epoch]:
        """Cut the schedule as `engine.epochs` does; no communicators, no cuts for their sake."""
        if self.in_order:
            return epochs(packets, max_live, one_sender=one_sender)
        cuts = epochs(packets, len(packets) + 1, one_sender=one_sender)
        return [Epoch(cut.start, cut.stop, ()) for cut in cuts]

    def transport(
        self, world: MPI.Intracomm, groups: Groups, *, chunk: int, link: SharedLink | None
    ) -> Transport:
        """Return the transport for an epoch of a shuffle; collective over its ranks."""
        if self.name == "groups":
            return GroupTransport(world, groups, chunk=min(chunk, self._segment), link=link)
        # Imported where they are used: most runs are on one host, where neither is.
        if self._sites is not None:
            from coded_mr.engine.multicast.relay import RelayTransport

            return RelayTransport(world, self._sites, chunk=chunk, link=link)
        if self.channel is None:
            return UnicastTransport(world, chunk=chunk, link=link)
        from coded_mr.engine.multicast.hearing import agree_on_key
        from coded_mr.engine.multicast.ip import IpTransport

        # What the network still holds of another shuffle must not be taken for part of this one.
        self.channel.listen(agree_on_key(world), world.rank)
        return IpTransport(world, self.channel, chunk=chunk, link=link)

    def close(self) -> None:
        """Let go of what the transports used."""
        if self.channel is not None:
            self.channel.close()
