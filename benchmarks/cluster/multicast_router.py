"""Route multicasts by a fixed table: `python multicast_router.py`, in a router of an emulated network.

Reads lines "ORIGIN GROUP IN OUT [OUT...]" (two IPv4 addresses, then interfaces) to the end of its input, says
"ready" and keeps the routes until it is killed. Imports nothing of coded_mr: it runs by itself.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import sys

__all__ = ["main"]

# <linux/mroute.h>
_INIT, _ADD_VIF, _ADD_MFC = 200, 202, 204
_USE_IFINDEX = 8
_MOST_INTERFACES = 32


def main() -> None:
    """Install the routes and wait."""
    kernel = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_IGMP)
    kernel.setsockopt(socket.IPPROTO_IP, _INIT, struct.pack("i", 1))
    numbers: dict[str, int] = {}
    for number, name in enumerate(name for _, name in socket.if_nameindex() if name != "lo"):
        numbers[name] = number
        index = socket.if_nametoindex(name)
        kernel.setsockopt(
            socket.IPPROTO_IP, _ADD_VIF, struct.pack("=HBBIi4x", number, _USE_IFINDEX, 1, 0, index)
        )
    for line in sys.stdin:
        origin, group, into, *out = line.split()
        passing = bytearray(_MOST_INTERFACES)  # at 0 an interface takes no copy
        for name in out:
            passing[numbers[name]] = 1
        addresses = socket.inet_aton(origin), socket.inet_aton(group)
        route = struct.pack("=4s4sH32s2x16x", *addresses, numbers[into], bytes(passing))
        kernel.setsockopt(socket.IPPROTO_IP, _ADD_MFC, route)
    print("ready", flush=True)
    os.close(sys.stdout.fileno())
    signal.pause()


if __name__ == "__main__":
    main()
