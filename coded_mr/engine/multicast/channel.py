"""One rank's end of an IP multicast group: a socket, and a thread that drains it into announced payloads."""

from __future__ import annotations

import ipaddress
import select
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np

from coded_mr.engine.multicast.datagrams import DATAGRAM, Inbox, body, head, read
from coded_mr.engine.multicast.transport import Array

__all__ = ["Channel"]

_RECEIVE_BUFFER = 8 << 20
# Linux's option to exceed the limit for unprivileged users; Python has no name for it.
_SO_RCVBUFFORCE = 33


class Channel:
    """Send to, and hear, the multicast group that a key names.

    Only datagrams with the present key that belong to an announced packet are kept, and only in that packet's
    payload: others cost reading them. `drop` is asked for every datagram that comes whether to lose it.
    """

    def __init__(
        self,
        key: bytes,
        *,
        interface: str | None = None,
        loop: bool = True,
        drop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Join the group and start to listen; `loop`: other ranks of this host are in it, too.

        `interface` is a name or an IPv4 address; without it the system chooses. Raises OSError where the
        system refuses.
        """
        self._key = key
        self._drop = drop
        self._inboxes: dict[int, Inbox] = {}
        self._lock = threading.Lock()
        self._address = _address(key)
        self._closing, self._closed = socket.socketpair()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._leaving = False
        self._idle = True
        self._arriving = select.poll()
        self._arriving.register(self._socket, select.POLLIN)
        try:
            self._join(interface, loop)
        except OSError:
            self._release()
            raise
        self._thread = threading.Thread(target=self._listen, name="multicast", daemon=True)
        self._thread.start()

    def begin(self, key: bytes) -> None:
        """Use another key from now on: what is still under way with the old one is a stranger's."""
        with self._lock:
            self._key = key
            self._inboxes.clear()

    def announce(self, packet: int, payload: Array) -> Inbox:
        """Let the pieces of a packet be written into this payload from now on."""
        inbox = Inbox(payload)
        with self._lock:
            self._inboxes[packet] = inbox
        return inbox

    def forget(self, packet: int) -> None:
        """Write nothing more into the packet's payload: it belongs to the caller again."""
        with self._lock:
            del self._inboxes[packet]

    def put(self, inbox: Inbox, number: int, content: Array) -> None:
        """Write a piece that came another way."""
        with self._lock:
            inbox.put((number,), content)

    def send(self, packet: int, numbers: Sequence[int], payload: Array) -> int:
        """Send the XOR of pieces; return the bytes sent, or 0 when the socket's buffer is full now."""
        parts = [memoryview(head(self._key, packet, numbers)), body(payload, numbers).data]
        try:
            return self._socket.sendmsg(parts, (), socket.MSG_DONTWAIT, self._address)
        except BlockingIOError:
            return 0
        except OSError:
            # As good as lost: what it carried is reported missing and comes another way in the end.
            return sum(len(part) for part in parts)

    @property
    def drained(self) -> bool:
        """Tell whether all that has come is where it belongs."""
        # In this order: what comes between the two questions is seen by the second.
        return not self._arriving.poll(0) and self._idle

    def close(self) -> None:
        """Leave the group."""
        self._leaving = True
        self._closing.send(b"!")
        self._thread.join()
        self._release()

    def _release(self) -> None:
        for end in (self._socket, self._closing, self._closed):
            end.close()

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

    def _listen(self) -> None:
        """Drain the socket until told to stop."""
        buffer: Array = np.empty(DATAGRAM + 1, dtype=np.uint8)
        ends = select.poll()
        ends.register(self._socket, select.POLLIN)
        ends.register(self._closed, select.POLLIN)
        while not self._leaving:
            ends.poll()
            self._idle = False
            while not self._emptied(buffer) and not self._leaving:
                pass
            self._idle = True

    def _emptied(self, buffer: Array) -> bool:
        """Take one datagram, or tell that there is none."""
        try:
            size = self._socket.recv_into(buffer.data, 0, socket.MSG_DONTWAIT)
        except OSError:
            return True  # empty, or an error that the system reports once
        if size <= DATAGRAM and not self._drop():
            self._take(buffer[:size])
        return False

    def _take(self, datagram: Array) -> None:
        with self._lock:
            found = read(datagram, self._key)
            inbox = self._inboxes.get(found[0]) if found else None
            if found and inbox is not None:
                inbox.put(found[1], found[2])


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
