"""One rank's end of an IP multicast group: a socket that hears what bears the key and is for this rank."""

from __future__ import annotations

import ctypes
import ipaddress
import socket
import struct
from collections.abc import Callable
from contextlib import suppress

from coded_mr.engine.multicast.datagrams import OVERHEAD, Datagram, mask_of, read

__all__ = ["Channel"]

_RECEIVE_BUFFER = 8 << 20
# Linux's numbers of options for which Python has no names.
_SO_RCVBUFFORCE, _SO_ATTACH_FILTER, _IP_MTU = 33, 26, 14
# Heads of IPv4 and UDP. Larger frames than jumbo ones are loopbacks': one that is lost would cost too much.
_IP_UDP, _LEAST_MTU, _MOST_MTU = 28, 576, 9000
_UDP = 8  # bytes of UDP's head, which a filter sees first


class Channel:
    """Send to, and hear, the multicast group that a key names.

    Datagrams without the present key, or for other ranks, are dropped by the kernel where it can (Linux),
    else as they are read. `drop` is asked for every datagram that comes whether to lose it.
    """

    def __init__(
        self,
        key: bytes,
        *,
        interface: str | None = None,
        loop: bool = True,
        drop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Join the group; `loop`: other ranks of this host are in it, too.

        `interface` is a name or an IPv4 address; without it the system chooses. Raises OSError where the
        system refuses.
        """
        self._key = key
        self._drop = drop
        self._address = _address(key)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._join(interface, loop)
            self.piece = self._mtu(interface) - _IP_UDP - OVERHEAD
        except OSError:
            self._socket.close()
            raise
        self._buffer = memoryview(bytearray(_MOST_MTU))
        self.listen(key, None)

    @property
    def key(self) -> bytes:
        """Return what every datagram bears."""
        return self._key

    def listen(self, key: bytes, rank: int | None) -> None:
        """Use another key from now on, and hear what is for this rank (None: for any)."""
        self._key = key
        with suppress(OSError):  # other systems than Linux: `receive` looks at the key itself
            _attach_filter(self._socket, key, mask_of([rank]) if rank is not None else None)

    def send(self, head: bytes, content: memoryview | bytes) -> int:
        """Send a datagram; return the bytes sent, or 0 when the socket's buffer is full now."""
        try:
            return self._socket.sendmsg((head, content), (), socket.MSG_DONTWAIT, self._address)
        except BlockingIOError:
            return 0
        except OSError:
            # As good as lost: what it carried is reported missing and comes another way in the end.
            return len(head) + len(content)

    def receive(self) -> Datagram | None:
        """Return the next datagram that is ours, valid until the next call; None when there is none now."""
        while True:
            try:
                size = self._socket.recv_into(self._buffer, 0, socket.MSG_DONTWAIT)
            except OSError:
                return None  # empty, or an error that the system reports once
            if self._drop():
                continue
            if (found := read(self._buffer[:size], self._key)) is not None:
                return found

    def close(self) -> None:
        """Leave the group."""
        self._socket.close()

    def _join(self, interface: str | None, loop: bool) -> None:
        own, level = self._socket, socket.IPPROTO_IP
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
        with suppress(OSError):  # where it is not allowed the system's own limit holds
            own.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BUFFER)
        member = _membership(self._address[0], interface)
        own.setsockopt(level, socket.IP_MULTICAST_TTL, 1)
        own.setsockopt(level, socket.IP_MULTICAST_LOOP, int(loop))
        own.setsockopt(level, socket.IP_MULTICAST_IF, member)
        own.bind(self._address)
        own.setsockopt(level, socket.IP_ADD_MEMBERSHIP, member)

    def _mtu(self, interface: str | None) -> int:
        """Return the largest IP packet that leaves here in one frame."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.setsockopt(
                socket.IPPROTO_IP, socket.IP_MULTICAST_IF, _membership(self._address[0], interface)
            )
            probe.connect(self._address)
            with suppress(OSError):
                return max(min(probe.getsockopt(socket.IPPROTO_IP, _IP_MTU), _MOST_MTU), _LEAST_MTU)
        return _LEAST_MTU


def _attach_filter(own: socket.socket, key: bytes, mask: int | None) -> None:
    """Let the kernel drop what does not bear the key or has no bit of the mask: a classic BPF program."""
    first, second = struct.unpack("!II", key)
    load, equal, common, end = 0x20, 0x15, 0x45, 0x06
    program = [
        (load, 0, 0, _UDP),
        (equal, 0, 5, first),
        (load, 0, 0, _UDP + 4),
        (equal, 0, 3, second),
        (load, 0, 0, _UDP + 8),
        (common, 0, 1, 0xFFFFFFFF if mask is None else mask),
        (end, 0, 0, 0xFFFF),
        (end, 0, 0, 0),
    ]
    raw = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    own.setsockopt(
        socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HL", len(program), ctypes.addressof(raw))
    )


def _address(key: bytes) -> tuple[str, int]:
    """Return the group and port of a key, in the block that sites number themselves (239.255.0.0/16)."""
    return f"239.255.{key[0]}.{max(key[1], 1)}", 20000 + int.from_bytes(key[2:4], "little") % 10000


def _membership(group: str, interface: str | None) -> bytes:
    """Return the C structure ip_mreqn: group, own address, number of the interface."""
    own, index = "0.0.0.0", 0
    if interface is not None:
        try:
            own = str(ipaddress.IPv4Address(interface))
        except ipaddress.AddressValueError:
            index = socket.if_nametoindex(interface)
    return struct.pack("4s4si", socket.inet_aton(group), socket.inet_aton(own), index)
