"""What one rank sent and received in the shuffle."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Traffic"]


@dataclass
class Traffic:
    """Count what one rank sent and received, in packets, bytes and seconds.

    `sent_payload` and `sent_header` are coded bytes: each multicast counted once, padding included.
    `sent_even` is what the payloads would have been had all members of a packet been of equal size: the
    payload beyond it is padding.
    `sent_wire` is what left this host for that, every copy and every repair counted. Of its `datagrams`,
    `repairs` combined what was lost; `rest` pieces of a datagram's size went over MPI after all.
    `interface` is what the network interface of this host sent meanwhile, told by one rank of each host; None
    where it has no counter.
    `exposed_group_seconds` are the part of `group_seconds` in which this rank had nothing left to map.
    `due` and `received` count payload and header once for each receiver: what was sent to, and arrived at.
    """

    sent_packets: int = 0
    sent_payload: int = 0
    sent_header: int = 0
    sent_even: float = 0.0
    sent_wire: int = 0
    datagrams: int = 0
    repairs: int = 0
    rest: int = 0
    interface: int | None = None
    due: int = 0
    received: int = 0
    received_packets: int = 0
    decoded_values: int = 0
    groups: int = 0
    group_seconds: float = 0.0
    exposed_group_seconds: float = 0.0
    encode_seconds: float = 0.0
    decode_seconds: float = 0.0
