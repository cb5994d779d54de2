"""Opening transports on a world: which hosts its ranks share, and whether IP multicast works among them."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable, Sequence

import numpy as np
from mpi4py import MPI

from coded_mr.engine.locating import find_sites
from coded_mr.engine.multicast.carriers import AUTO, TRANSPORTS, Carrier, new_key
from coded_mr.engine.multicast.channel import Channel
from coded_mr.engine.multicast.datagrams import head, mask_of
from coded_mr.engine.waiting import CHUNK, Backoff, broadcast
from coded_mr.errors import UsageError
from coded_mr.topology import Sites

__all__ = ["open_carrier", "open_carriers"]

_LOG = logging.getLogger("coded_mr")

# Bytes of a broadcast between hosts: a member passes them on while the next ones come. Within a host
# nothing is passed on, and larger ones cost less.
_SEGMENT = 128 << 10

# The trial of a multicast group: rounds, and seconds to wait for all in each.
_TRIALS, _TRIAL_SECONDS = 10, 0.1


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
    opening = _Opening(world, interface, sites, drop)
    if name != "ip":
        return opening.over_mpi(name)
    channel, troubles = opening.channel()
    if channel is not None:
        return Carrier(name, channel)
    _warn(world, troubles)
    return opening.over_mpi("groups")


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
    opening = _Opening(world, interface, sites, drop)
    if opening.one_host:
        # Nothing is gained by passing packets on, or by datagrams.
        return tuple(opening.over_mpi(each) for each in ("groups", "unicast"))
    carriers = [opening.over_mpi(each) for each in TRANSPORTS if each != "ip"]
    channel, _ = opening.channel()
    return (*carriers, *([] if channel is None else [Carrier("ip", channel)]))


class _Opening:
    """What all transports of a world are opened with; it is divided by hosts once."""

    def __init__(
        self, world: MPI.Intracomm, interface: str | None, sites: Sites | None, drop: Callable[[], bool]
    ) -> None:
        """Find the hosts; this and the methods are collective."""
        self._world = world
        self._interface = interface
        self._sites = sites
        self._drop = drop
        host = world.Split_type(MPI.COMM_TYPE_SHARED)
        self._most = int(world.allreduce(host.size, MPI.MAX))
        host.Free()

    @property
    def one_host(self) -> bool:
        """Tell whether all ranks share a host."""
        return self._most == self._world.size

    def over_mpi(self, name: str) -> Carrier:
        """Return a transport that needs nothing but MPI."""
        if name == "relay":
            return Carrier(name, sites=self._sites or find_sites(self._world, None))
        return Carrier(name, segment=CHUNK if self.one_host else _SEGMENT)

    def channel(self) -> tuple[Channel | None, list[str]]:
        """Return a channel that all ranks hear each other on; without one, the trouble of each rank."""
        world, interface = self._world, self._interface
        key = broadcast(world, new_key)
        if interface is None:
            interface = "127.0.0.1" if self.one_host else _own_address()
        channel, trouble = None, ""
        try:
            channel = Channel(key, interface=interface, loop=self._most > 1, drop=self._drop)
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


def _own_address() -> str | None:
    """Return the IPv4 address that this host's name stands for, unless it is only its own."""
    try:
        found = socket.gethostbyname(socket.gethostname())
    except OSError:
        return None
    return None if found.startswith("127.") else found
