"""The shuffle: walk the schedule, encode what this rank sends, decode what it receives."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from mpi4py import MPI

from coded_mr.engine.combination import combine, solve
from coded_mr.engine.epochs import MAX_LIVE, Epoch
from coded_mr.engine.groups import Groups
from coded_mr.engine.mapping import Mapping
from coded_mr.engine.multicast import Carrier, Transport
from coded_mr.engine.multicast.link import SharedLink
from coded_mr.engine.packet import (
    Array,
    Bytes,
    Value,
    decode,
    encode,
    header_bytes,
    joined,
    member_of,
    pack_header,
    segment_span,
    unpack_header,
)
from coded_mr.engine.progress_board import Status
from coded_mr.engine.store import Store
from coded_mr.engine.traffic import Traffic
from coded_mr.engine.waiting import CHUNK, barrier
from coded_mr.engine.window import Need, Reserve, Steps, Transfer, Window
from coded_mr.errors import NondeterministicMapError, PacketError
from coded_mr.plan.model import Packet, Plan, Term

__all__ = ["Limits", "Shuffle"]

Entries: TypeAlias = list[tuple[int, int]]


@dataclass(frozen=True)
class Limits:
    """Bound what a rank has under way.

    `packets` and `bytes` of payload in the window, bytes in a `chunk` (one message), live `groups`, and
    bytes of `values` that wait for their packets before more is mapped (when map and shuffle overlap).
    `one_sender`: the next rank of a schedule made by `plan.turns` sends when the one before is through.
    """

    packets: int = 64
    bytes: int = 64 << 20
    chunk: int = CHUNK
    groups: int = MAX_LIVE
    values: int = 1 << 30
    one_sender: bool = False


class Shuffle:
    """Carry out one rank's part in a plan's packets.

    `blame` is asked for the file when side information differs from what the sender encoded. With `mapping`
    the rank's batches may still be being mapped: a packet leaves as soon as its last value exists. `link`
    paces all packets as one shared link would. `carrier` makes the transport, `groups` by default. `idle` is
    called between messages; what it raises ends the shuffle.
    """

    def __init__(
        self,
        world: MPI.Intracomm,
        plan: Plan,
        store: Store,
        *,
        limits: Limits | None = None,
        blame: Callable[[int], str] = "batch {}".format,
        mapping: Mapping | None = None,
        link: SharedLink | None = None,
        carrier: Carrier | None = None,
        idle: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare; nothing travels yet."""
        self._world = world
        self._plan = plan
        self._store = store
        self._limits = limits or Limits()
        self._blame = blame
        self._mapping = mapping
        self._link = link
        self._carrier = carrier or Carrier()
        self._idle = idle
        self._own = sum(world.rank == p.sender or world.rank in p.receivers for p in plan.packets)
        self.traffic = Traffic()
        self._partial: dict[tuple[tuple[int, ...], int], _Partial] = {}
        self._epochs = self._carrier.epochs(
            plan.packets, self._limits.groups, one_sender=self._limits.one_sender
        )
        self._prepared: Groups | None = None

    @property
    def status(self) -> Status:
        """Return how many packets this rank has sent and received; before its map ends, how far that is."""
        if self._mapping is not None and not self._mapping.is_complete:
            return self._mapping.status
        traffic = self.traffic
        done = traffic.sent_packets + traffic.received_packets
        return Status(
            "shuffle", done, self._own, traffic.sent_payload + traffic.sent_header + traffic.received
        )

    def prepare(self) -> None:
        """Set up the first epoch's groups, which `run` does otherwise; collective over the plan's ranks.

        Called while batches are being mapped, it costs no time of its own.
        """
        self._prepared = self._set_up(self._epochs[0])

    def run(self) -> Traffic:
        """Send and receive every packet of the plan that concerns this rank; collective over its ranks.

        Raises NondeterministicMapError and PacketError.
        """
        limits = self._limits
        for epoch in self._epochs:
            prepared, self._prepared = self._prepared, None
            with self._set_up(epoch) if prepared is None else prepared as groups:
                if epoch.groups:
                    self._meet()
                transport = self._carrier.transport(self._world, groups, chunk=limits.chunk, link=self._link)
                window = Window(packets=limits.packets, bytes=limits.bytes)
                tick = self._tick(window, transport)
                window.run(self._transfers(epoch, transport), tick)
                transport.close(tick)
            if limits.one_sender:
                barrier(self._world)
        return self.traffic

    def _meet(self) -> None:
        """Wait until all who take part are here: what is sent would get in the way of groups being made."""
        ranks = sorted({rank for packet in self._plan.packets for rank in (packet.sender, *packet.receivers)})
        if len(ranks) == self._world.size:
            barrier(self._world)
        elif self._world.rank in ranks:
            # The others of this world need not be in the shuffle at all.
            with Groups(self._world) as groups:
                groups.make(tuple(ranks))
                barrier(groups[tuple(ranks)])

    def _set_up(self, epoch: Epoch) -> Groups:
        """Make the groups of an epoch, and look after the mapping between any two."""
        groups, traffic, mapping = Groups(self._world), self.traffic, self._mapping
        for group in epoch.groups:
            if self._world.rank not in group:
                continue
            is_exposed = mapping is None or mapping.is_complete
            started = time.perf_counter()
            groups.make(group)
            seconds = time.perf_counter() - started
            traffic.groups += 1
            traffic.group_seconds += seconds
            traffic.exposed_group_seconds += seconds * is_exposed
            if mapping is not None:
                mapping.poll(lambda: self._may_map)
        return groups

    @property
    def _may_map(self) -> bool:
        return self._store.waiting_bytes <= self._limits.values

    def _tick(self, window: Window, transport: Transport) -> Callable[[], bool]:
        """Return what looks after the transport and the mapping meanwhile.

        While too much waits for packets nothing new is mapped, unless the oldest packet needs it: then
        nothing could leave.
        """
        mapping = self._mapping

        def tick() -> bool:
            self._idle()
            moved = transport.poll()
            if mapping is None:
                return moved
            return mapping.poll(lambda: self._may_map or window.needs_more) or moved

        return tick

    def _is_mapped(self, batches: Sequence[int]) -> Need:
        mapping = self._mapping
        return Need(lambda: mapping is None or all(map(mapping.has, batches)))

    def _transfers(self, epoch: Epoch, transport: Transport) -> Iterator[Transfer]:
        rank = self._world.rank
        for number in range(epoch.start, epoch.stop):
            packet = self._plan.packets[number]
            if packet.sender == rank:
                yield Transfer(self._send(number, packet, transport))
            elif rank in packet.receivers:
                channel = packet.receivers if self._carrier.in_order and len(packet.receivers) > 1 else None
                yield Transfer(self._receive(number, packet, transport), channel)

    def _send(self, number: int, packet: Packet, transport: Transport) -> Steps[None]:
        yield self._is_mapped([term.batch for term in packet.terms])
        values = [self._store.values(term) for term in packet.terms]
        members = [member_of(term, held) for term, held in zip(packet.terms, values, strict=True)]
        sizes = [sum(memoryview(part).nbytes for part in member) for member in members]
        yield Reserve(packet.rows * max(sizes))
        started = time.perf_counter()
        payload = _payload(members, packet.rows, max(sizes))
        header = pack_header([value.entry for held in values for value in held])
        for term in packet.terms:
            self._store.release(term)
        del values, members
        traffic = self.traffic
        traffic.encode_seconds += time.perf_counter() - started
        sent = yield from transport.send(number, packet, header, payload)
        traffic.sent_packets += 1
        traffic.sent_payload += payload.size
        traffic.sent_header += len(header)
        traffic.sent_even += packet.rows * sum(sizes) / len(sizes)
        traffic.due += len(packet.receivers) * (payload.size + len(header))
        traffic.sent_wire += sent.wire
        traffic.datagrams += sent.datagrams
        traffic.repairs += sent.repairs
        traffic.rest += sent.rest

    def _receive(self, number: int, packet: Packet, transport: Transport) -> Steps[None]:
        header, payload = yield from transport.receive(
            number, packet, header_bytes(packet), lambda raw: _payload_bytes(packet, _split(packet, raw))
        )
        lacking = self._plan.lacks(self._world.rank, packet)
        yield self._is_mapped([t.batch for i, t in enumerate(packet.terms) if i not in lacking])
        started = time.perf_counter()
        self._decode(number, packet, _split(packet, header), payload)
        traffic = self.traffic
        traffic.received_packets += 1
        traffic.received += payload.size + header.size
        traffic.decode_seconds += time.perf_counter() - started

    def _decode(self, number: int, packet: Packet, entries: list[Entries], payload: Array) -> None:
        lacking = self._plan.lacks(self._world.rank, packet)
        known = []
        for index, term in enumerate(packet.terms):
            if index not in lacking:
                values = self._store.values(term)
                if [value.entry for value in values] != entries[index]:
                    raise self._mismatch(packet, term)
                known.append((index, member_of(term, values)))
        if packet.rows == 1:
            decode(payload, [member for _, member in known])
            members = [payload]
        else:
            members = solve(payload.reshape(packet.rows, -1), known, lacking)
        for index, term in enumerate(packet.terms):
            if index not in lacking:
                self._store.release(term)
        for index, member in zip(lacking, members, strict=True):
            self._keep(number, packet, packet.terms[index], entries[index], member)

    def _keep(self, number: int, packet: Packet, term: Term, entries: Entries, member: Array) -> None:
        """Keep a decoded member; when the last segment of its values is there, check and store them."""
        total = sum(length for length, _ in entries)
        if term.segments > 1:
            key = (term.partitions, term.batch)
            partial = self._partial.setdefault(key, _Partial(entries, np.empty(total, dtype=np.uint8)))
            if partial.entries != entries:
                raise self._mismatch(packet, term)
            start, stop = segment_span(term, total)
            partial.joined[start:stop] = member[: stop - start]
            partial.segments += 1
            if partial.segments < term.segments:
                return
            member = self._partial.pop(key).joined
        start = 0
        for q, (length, crc) in zip(term.partitions, entries, strict=True):
            value = Value.of(member[start : start + length].data)
            if value.crc != crc:
                raise PacketError(
                    f"packet {number} from rank {packet.sender} does not decode to the value of partition "
                    f"{q}, batch {term.batch}, that its header announces; the side information is as "
                    "announced, so a packet was damaged on its way or in memory"
                )
            self._store.put_received(q, term.batch, value)
            self.traffic.decoded_values += 1
            start += length

    def _mismatch(self, packet: Packet, term: Term) -> NondeterministicMapError:
        return NondeterministicMapError.between(self._world.rank, packet.sender, self._blame(term.batch))


@dataclass
class _Partial:
    """Values of which some segments have come."""

    entries: Entries
    joined: Array
    segments: int = 0


def _payload(members: Sequence[Sequence[Bytes]], rows: int, longest: int) -> Array:
    """Return what is sent for the members: of one that is alone, its own bytes."""
    if len(members) == rows == 1:
        return joined(members[0])
    payload = np.empty((rows, longest), dtype=np.uint8)
    if rows == 1:
        encode(members, payload[0])
    else:
        combine(members, payload)
    return payload.reshape(-1)


def _split(packet: Packet, header: Array) -> list[Entries]:
    """Return the header's entries, term by term."""
    entries = iter(unpack_header(header))
    return [[next(entries) for _ in term.partitions] for term in packet.terms]


def _payload_bytes(packet: Packet, entries: list[Entries]) -> int:
    spans = [
        segment_span(term, sum(length for length, _ in own))
        for term, own in zip(packet.terms, entries, strict=True)
    ]
    return packet.rows * max(stop - start for start, stop in spans)
