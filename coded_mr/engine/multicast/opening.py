"""Opening transports on a world: which may be used there, and what each needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from mpi4py import MPI

from coded_mr.engine.hosts import hosts_of
from coded_mr.engine.multicast.carriers import AUTO, TRANSPORTS, Carrier
from coded_mr.engine.waiting import CHUNK
from coded_mr.errors import UsageError

if TYPE_CHECKING:
    from coded_mr.engine.multicast.channel import Channel
    from coded_mr.topology import Sites

__all__ = ["open_carrier", "open_carriers"]

# Bytes of a broadcast between hosts: a member passes them on while the next ones come. Within a host
# nothing is passed on, and larger ones cost less.
_SEGMENT = 128 << 10


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
    from coded_mr.engine.multicast.hearing import warn

    warn(world, troubles)
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
    nothing is said; those that may gain most come first. The rest is as in `open_carrier`.
    """
    if name != AUTO:
        return (open_carrier(world, name, interface=interface, sites=sites, drop=drop),)
    opening = _Opening(world, interface, sites, drop)
    if opening.one_host:
        # Nothing is gained by passing packets on, or by datagrams.
        return tuple(opening.over_mpi(each) for each in ("groups", "unicast"))
    groups, *others = (opening.over_mpi(each) for each in TRANSPORTS if each != "ip")
    channel, _ = opening.channel()
    return (groups, *([] if channel is None else [Carrier("ip", channel)]), *others)


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
        self._most = max(Counter(hosts_of(world)).values())

    @property
    def one_host(self) -> bool:
        """Tell whether all ranks share a host."""
        return self._most == self._world.size

    # What only runs on several hosts use is imported where it is used.

    def over_mpi(self, name: str) -> Carrier:
        """Return a transport that needs nothing but MPI."""
        if name == "relay":
            from coded_mr.engine.locating import find_sites

            return Carrier(name, sites=self._sites or find_sites(self._world, None))
        return Carrier(name, segment=CHUNK if self.one_host else _SEGMENT)

    def channel(self) -> tuple[Channel | None, list[str]]:
        """Return a channel that all ranks hear each other on; without one, the trouble of each rank."""
        from coded_mr.engine.multicast.hearing import open_channel

        return open_channel(self._world, self._interface, self._most, self._drop)
