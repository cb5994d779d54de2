"""The transports by name, and what each needs for as long as a job runs."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, Sequence

import numpy as np
from mpi4py import MPI

from coded_mr.engine.epochs import Epoch, epochs
from coded_mr.engine.groups import Groups
from coded_mr.engine.locating import find_sites
from coded_mr.engine.multicast.channel import Channel
from coded_mr.engine.multicast.datagrams import KEY_BYTES, head, mask_of
from coded_mr.engine.multicast.groups import GroupTransport
from coded_mr.engine.multicast.ip import IpTransport
from coded_mr.engine.multicast.link import SharedLink
from coded_mr.engine.multicast.relay import RelayTransport
from coded_mr.engine.multicast.transport import Transport
from coded_mr.engine.multicast.unicast import UnicastTransport
from coded_mr.engine.waiting import CHUNK, Backoff, broadcast
from coded_mr.errors import UsageError
from coded_mr.plan.model import Packet
from coded_mr.topology import Sites

__all__ = ["AUTO", "TRANSPORTS", "Carrier", "open_carrier", "open_carriers"]

_LOG = logging.getLogger("coded_mr")

TRANSPORTS = ("groups", "unicast", "ip", "relay")
AUTO = "auto"

# Bytes of a broadcast between hosts: a member passes them on while the next ones come. Within a host
# nothing is passed on, and larger ones cost less.
_SEGMENT = 128 << 10

# The trial of a multicast group: rounds, and seconds to wait for all in each.
_TRIALS, _TRIAL_SECONDS = 10, 0.1


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
        if self._sites is not None:
            return RelayTransport(world, self._sites, chunk=chunk, link=link)
        if self.channel is None:
            return UnicastTransport(world, chunk=chunk, link=link)
        # What the network still holds of another shuffle must not be taken for part of this one.
        self.channel.listen(broadcast(world, _new_key), world.rank)
        return IpTransport(world, self.channel, chunk=chunk, link=link)

    def close(self) -> None:
        """Let go of what the transports used."""
        if self.channel is not None:
            self.channel.close()


def open_carrier(
    world: MPI.Intracomm,
    name: str,
    *,
    interface: str | None = None,
    sites: Sites | None = None,
    drop: Callable[[], bool] = lambda: False,
) -> Carrier:
    """Return the transports of that name; collective.

    For `ip` all ranks join a multicast group, on `interface` (a name or an IPv4 address; by default the one
    that a rank's host name stands for, or the loopback when all ranks share a host), and try it. Where that
    fails anywhere, rank 0 warns and all use `groups`. `drop` loses datagrams, for tests. For
    `relay`, `sites` says where the ranks are; by default all hosts are at one switch. Raises UsageError for
    an unknown name.
    """
    if name not in TRANSPORTS:
        raise UsageError(f"there is no transport {name!r}; there are {', '.join(TRANSPORTS)}")
    if name == "ip":
        channel, troubles = _open_channel(world, interface, drop)
        if channel is not None:
            return Carrier(name, channel)
        _warn(world, troubles)
        name = "groups"
    return _without_channel(world, name, sites)


def open_carriers(
    world: MPI.Intracomm,
    name: str,
    *,
    interface: str | None = None,
    sites: Sites | None = None,
    drop: Callable[[], bool] = lambda: False,
) -> tuple[Carrier, ...]:
    """Return the transports among which a measurement may choose, or the one of that name; collective.

    For "auto" these are `groups` and `unicast`, between hosts also `relay`, and `ip` where it works, of which
    nothing is said. The rest is as in `open_carrier`.
    """
    if name != AUTO:
        return (open_carrier(world, name, interface=interface, sites=sites, drop=drop),)
    if _most_ranks_on_a_host(world) == world.size:
        # Nothing is gained by passing packets on, or by datagrams.
        return tuple(_without_channel(world, each, sites) for each in ("groups", "unicast"))
    carriers = [_without_channel(world, each, sites) for each in TRANSPORTS if each != "ip"]
    channel, _ = _open_channel(world, interface, drop)
    return (*carriers, *([] if channel is None else [Carrier("ip", channel)]))


def _without_channel(world: MPI.Intracomm, name: str, sites: Sites | None) -> Carrier:
    if name == "relay":
        return Carrier(name, sites=sites or find_sites(world, None))
    one_host = _most_ranks_on_a_host(world) == world.size
    return Carrier(name, segment=CHUNK if one_host else _SEGMENT)


def _open_channel(
    world: MPI.Intracomm, interface: str | None, drop: Callable[[], bool]
) -> tuple[Channel | None, list[str]]:
    """Return a channel that all ranks hear each other on; without one, each rank's trouble, if it has any."""
    key = broadcast(world, _new_key)
    most = _most_ranks_on_a_host(world)
    if interface is None:
        interface = "127.0.0.1" if most == world.size else _own_address()
    channel, trouble = None, ""
    try:
        channel = Channel(key, interface=interface, loop=most > 1, drop=drop)
    except OSError as error:
        trouble = f"joining failed: {error}"
    troubles = world.allgather(trouble)
    if channel is not None and not any(troubles):
        channel.piece = world.allreduce(channel.piece, MPI.MIN)
        lost = _unheard(world, channel)
        troubles = world.allgather(f"heard nothing of ranks {lost}" if lost else "")
    if channel is not None and any(troubles):
        channel.close()
        channel = None
    return channel, troubles


def _warn(world: MPI.Intracomm, troubles: Sequence[str]) -> None:
    hosts = world.allgather(socket.gethostname())
    if world.rank == 0:
        rank, trouble = next((rank, trouble) for rank, trouble in enumerate(troubles) if trouble)
        _LOG.warning(
            "IP multicast does not work between these ranks, so `groups` is used: rank %d on %s %s. "
            "Check the firewall and the switch for 239.255.0.0/16, or name the network's interface",
            *(rank, hosts[rank], trouble),
        )


def _unheard(world: MPI.Intracomm, channel: Channel) -> list[int]:
    """Let each rank greet all others; return the ranks of which nothing came here."""
    heard = np.zeros(world.size, dtype=np.bool_)
    heard[world.rank] = True
    greeting = head(channel.key, mask_of(range(32)), world.rank, (0,))
    content = bytes(channel.piece)
    for _ in range(_TRIALS):
        channel.send(greeting, content)
        until, backoff = time.monotonic() + _TRIAL_SECONDS, Backoff()
        while not heard.all() and time.monotonic() < until:
            found = channel.receive()
            if found is None:
                backoff.pause()
            elif found.packet < world.size and len(found.content) == channel.piece:
                heard[found.packet] = True
        if world.allreduce(bool(heard.all()), MPI.LAND):
            break
    return [int(rank) for rank in np.flatnonzero(~heard)]


def _most_ranks_on_a_host(world: MPI.Intracomm) -> int:
    host = world.Split_type(MPI.COMM_TYPE_SHARED)
    most = int(world.allreduce(host.size, MPI.MAX))
    host.Free()
    return most


def _own_address() -> str | None:
    """Return the IPv4 address that this host's name stands for, unless it is only its own."""
    try:
        found = socket.gethostbyname(socket.gethostname())
    except OSError:
        return None
    return None if found.startswith("127.") else found


def _new_key() -> bytes:
    return os.urandom(KEY_BYTES)
