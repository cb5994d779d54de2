"""The counters of network interfaces: what a host really sent (Linux)."""

from __future__ import annotations

import socket
import struct
from contextlib import suppress
from pathlib import Path

from mpi4py import MPI

__all__ = ["InterfaceCounter", "interface_towards"]

_COUNTERS = Path("/proc/net/dev")
_SENT = 8  # which number of an interface's line counts the bytes sent
_ADDRESS_OF = 0x8915  # SIOCGIFADDR


class InterfaceCounter:
    """Count what this rank's host sends on the interface that leads to the other hosts.

    `bytes` is 0 on all ranks of a host but its first, and None where no counter can be read: all ranks share
    a host, the host names stand for no addresses, or the system is not Linux. Everything that the host sends
    there is counted, frames with their heads, whoever sends it.
    """

    def __init__(self, world: MPI.Intracomm) -> None:
        """Find the interface; collective."""
        host = world.Split_type(MPI.COMM_TYPE_SHARED)
        self._speaks = host.rank == 0
        mine = host.bcast(socket.gethostname())
        host.Free()
        others = [name for name in world.allgather(mine) if name != mine]
        self._name = interface_towards(others[0]) if others else None
        self._before = 0

    def start(self) -> None:
        """Count from now on."""
        self._before = self._read() or 0

    def bytes(self) -> int | None:
        """Return the bytes sent since the start."""
        now = self._read()
        if now is None:
            return None
        return now - self._before if self._speaks else 0

    def _read(self) -> int | None:
        if self._name is None:
            return None
        with suppress(OSError):
            for line in _COUNTERS.read_text().splitlines():
                name, _, numbers = line.partition(":")
                if name.strip() == self._name:
                    return int(numbers.split()[_SENT])
        return None


def interface_towards(host: str) -> str | None:
    """Return the interface by which packets to a host leave; None where that cannot be found out."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, 9))  # sends nothing
        own = socket.inet_aton(probe.getsockname()[0])
        return next((name for _, name in socket.if_nameindex() if _address_of(probe, name) == own), None)
    return None


def _address_of(probe: socket.socket, name: str) -> bytes | None:
    try:
        from fcntl import ioctl

        return ioctl(probe, _ADDRESS_OF, struct.pack("256s", name.encode()[:15]))[20:24]
    except OSError:
        return None
