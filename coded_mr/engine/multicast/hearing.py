"""Whether IP multicast works between the ranks of a world: all join a group and greet each other."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, Sequence

import numpy as np
from mpi4py import MPI

from coded_mr.engine.multicast.channel import Channel
from coded_mr.engine.multicast.datagrams import KEY_BYTES, head, mask_of
from coded_mr.engine.waiting import Backoff, broadcast

__all__ = ["agree_on_key", "open_channel", "warn"]

_LOG = logging.getLogger("coded_mr")

# Rounds of the trial, and seconds to wait for all in each.
_TRIALS, _TRIAL_SECONDS = 10, 0.1


def agree_on_key(world: MPI.Intracomm) -> bytes:
    """Return a new key that tells a shuffle's datagrams from others', the same on all ranks; collective."""
    return broadcast(world, lambda: os.urandom(KEY_BYTES))


def open_channel(
    world: MPI.Intracomm, interface: str | None, most: int, drop: Callable[[], bool]
) -> tuple[Channel | None, list[str]]:
    """Return a channel that all ranks hear each other on; without one, the trouble of each rank; collective.

    `most` ranks share a host; `interface` and `drop` are those of `open_carrier`.
    """
    key = agree_on_key(world)
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


def warn(world: MPI.Intracomm, troubles: Sequence[str]) -> None:
    """Say on rank 0 why there is no channel; collective."""
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
