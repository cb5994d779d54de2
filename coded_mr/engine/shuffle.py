"""The shuffle: walk the schedule, encode what this rank sends, decode what it receives."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from coded_mr.engine.epochs import MAX_LIVE, Epoch, epochs
from coded_mr.engine.groups import Groups
from coded_mr.engine.multicast import GroupTransport
from coded_mr.engine.packet import Value, decode, encode, header_bytes, pack_header, unpack_header
from coded_mr.engine.store import Store
from coded_mr.engine.traffic import Traffic
from coded_mr.engine.waiting import CHUNK
from coded_mr.engine.window import Reserve, Steps, Transfer, Window
from coded_mr.errors import NondeterministicMapError, PacketError
from coded_mr.plan.model import Packet, Plan

__all__ = ["Limits", "Shuffle"]

Array = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Limits:
    """Bound what a rank has under way: packets, bytes of payload, bytes in a message, live groups."""

    packets: int = 32
    bytes: int = 64 << 20
    chunk: int = CHUNK
    groups: int = MAX_LIVE


class Shuffle:
    """Carry out one rank's part in a plan's packets.

    `blame` is asked for the file when side information differs from what the sender encoded.
    """

    def __init__(
        self,
        world: MPI.Intracomm,
        plan: Plan,
        store: Store,
        *,
        limits: Limits | None = None,
        blame: Callable[[int], str] = "batch {}".format,
    ) -> None:
        """Prepare; nothing travels yet."""
        self._world = world
        self._plan = plan
        self._store = store
        self._limits = limits or Limits()
        self._blame = blame
        self.traffic = Traffic()

    def run(self) -> Traffic:
        """Send and receive every packet of the plan that concerns this rank; collective over its ranks.

        Raises NondeterministicMapError and PacketError.
        """
        for epoch in epochs(self._plan.packets, self._limits.groups):
            started = time.perf_counter()
            with Groups(self._world, epoch.groups) as groups:
                self.traffic.groups += len(groups)
                self.traffic.group_seconds += time.perf_counter() - started
                transport = GroupTransport(self._world, groups, chunk=self._limits.chunk)
                window = Window(packets=self._limits.packets, bytes=self._limits.bytes)
                window.run(self._transfers(epoch, transport))
        return self.traffic

    def _transfers(self, epoch: Epoch, transport: GroupTransport) -> Iterator[Transfer]:
        rank = self._world.rank
        for number in range(epoch.start, epoch.stop):
            packet = self._plan.packets[number]
            if packet.sender == rank:
                yield Transfer(self._send(number, packet, transport))
            elif rank in packet.group:
                channel = packet.group if len(packet.terms) > 1 else None
                yield Transfer(self._receive(number, packet, transport), channel)

    def _send(self, number: int, packet: Packet, transport: GroupTransport) -> Steps[None]:
        members = [self._store.member(packet, index) for index in range(len(packet.terms))]
        sizes = [sum(value.size for value in member) for member in members]
        yield Reserve(max(sizes))
        started = time.perf_counter()
        payload = np.empty(max(sizes), dtype=np.uint8)
        encode([[value.data for value in member] for member in members], payload)
        header = pack_header([value.entry for member in members for value in member])
        for index in range(len(members)):
            self._store.release_member(packet, index)
        del members
        traffic = self.traffic
        traffic.encode_seconds += time.perf_counter() - started
        yield from transport.send(number, packet, header, payload)
        traffic.sent_packets += 1
        traffic.sent_payload += payload.size
        traffic.sent_header += len(header)
        traffic.sent_even += sum(sizes) / len(sizes)
        traffic.due += len(sizes) * (payload.size + len(header))

    def _receive(self, number: int, packet: Packet, transport: GroupTransport) -> Steps[None]:
        header, payload = yield from transport.receive(
            number,
            packet,
            header_bytes(self._plan, packet),
            lambda raw: max(map(_total, self._split(packet, raw))),
        )
        started = time.perf_counter()
        self._decode(number, packet, self._split(packet, header), payload)
        traffic = self.traffic
        traffic.received_packets += 1
        traffic.received += payload.size + header.size
        traffic.decode_seconds += time.perf_counter() - started

    def _split(self, packet: Packet, header: Array) -> list[list[tuple[int, int]]]:
        """Return the header's entries, member by member."""
        entries = iter(unpack_header(header))
        return [[next(entries) for _ in self._plan.reduces[term.receiver]] for term in packet.terms]

    def _decode(
        self, number: int, packet: Packet, entries: list[list[tuple[int, int]]], payload: Array
    ) -> None:
        own = packet.group.index(self._world.rank)
        known = []
        for index in range(len(packet.terms)):
            if index != own:
                member = self._store.member(packet, index)
                if [value.entry for value in member] != entries[index]:
                    blamed = self._blame(packet.terms[index].batch)
                    raise NondeterministicMapError.between(self._world.rank, packet.sender, blamed)
                known.append([value.data for value in member])
                self._store.release_member(packet, index)
        decode(payload, known)
        batch, start = packet.terms[own].batch, 0
        for q, (length, crc) in zip(self._plan.reduces[self._world.rank], entries[own], strict=True):
            value = Value.of(payload[start : start + length].data)
            if value.crc != crc:
                raise PacketError(self._damage(number, packet, q, batch))
            self._store.put_received(q, batch, value)
            self.traffic.decoded_values += 1
            self.traffic.decoded_bytes += length
            start += length

    def _damage(self, number: int, packet: Packet, partition: int, batch: int) -> str:
        return (
            f"packet {number} from rank {packet.sender} does not decode to the value of partition "
            f"{partition}, batch {batch}, that its header announces; the side information is as announced, "
            "so the packet was damaged on its way or in memory"
        )


def _total(entries: list[tuple[int, int]]) -> int:
    return sum(length for length, _ in entries)
