"""Send datagrams as a list says: `python multicast_sender.py RATE`, on a host of an emulated network.

Reads lines "GROUP BYTES" (an IPv4 multicast address, the frame to send, headers and all) to the end of its
input and sends them at RATE bytes a second. Imports nothing of coded_mr: it runs by itself.
"""

from __future__ import annotations

import socket
import sys
import time

__all__ = ["HEADERS", "main"]

HEADERS = 14 + 20 + 8  # Ethernet, IPv4, UDP
_PORT = 5000


def main(rate: float) -> None:
    """Send everything."""
    lines = [line.split() for line in sys.stdin]
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 16)
    due = time.monotonic()
    for group, size in lines:
        time.sleep(max(0.0, due - time.monotonic()))
        sender.sendto(bytes(int(size) - HEADERS), (group, _PORT))
        due += int(size) / rate


if __name__ == "__main__":
    main(float(sys.argv[1]))
