"""What calibration measured, as a value that can be stored and used again."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from coded_mr.errors import InputError
from coded_mr.plan.machine import Machine, Slots
from coded_mr.theory.costs import Costs

__all__ = ["Network", "Profile"]

_FORMAT = "coded-mr-profile/3"

# A cost of zero has no optimum: what is too quick to measure counts as a nanosecond.
_LEAST = Fraction(1, 10**9)


@dataclass(frozen=True)
class Network:
    """Hold what multicasts cost by one transport.

    multicast      seconds for a byte multicast to j receivers, with all ranks sending at once: {j: seconds}
    alone          the same with one rank sending
    packet_seconds, group_seconds  for a packet beside its bytes, and to set up a group
    shuffle_seconds  for a shuffle beside its packets
    """

    multicast: Mapping[int, float]
    alone: Mapping[int, float]
    packet_seconds: float
    group_seconds: float
    shuffle_seconds: float

    def over_unicast(self, seconds: Mapping[int, float]) -> tuple[Fraction, ...]:
        """Return costs for 1, 2, ... receivers over that of a unicast with all ranks sending."""
        unicast = self.multicast.get(1, 0.0)
        most = max(seconds, default=0) if unicast else 0
        return tuple(_fraction(_between(seconds, j) / unicast) for j in range(1, most + 1))


@dataclass(frozen=True)
class Profile:
    """Hold the measured costs of a job on some ranks.

    input_bytes    of the whole input (estimated where it is compressed)
    map_seconds    for a byte of input, on one rank alone, in as many batches as there are ranks
    map_growth     h: in b times as few batches it takes b^h times as long
    value_bytes    of intermediate values for a byte of input, combined in as many batches as there are ranks
    value_growth   g: with b times as many batches there are b^g times as many of them
    reduce_seconds for a byte of intermediate values, with writing; part_seconds: for each part beside that
    networks       what multicasts cost, by transport
    padding        length of a packet that combines 1, 2, ... values over their mean length
    map_slots, reduce_slots  ranks' worth of work that is done when n ranks work at once: {n: ranks}
    hosts          the host of every rank, as a number
    sample_bytes   of the input that were mapped to find out; seconds: how long all of it took
    """

    input_bytes: int
    map_seconds: float
    map_growth: float
    value_bytes: float
    value_growth: float
    reduce_seconds: float
    part_seconds: float
    networks: Mapping[str, Network]
    padding: tuple[float, ...]
    map_slots: Mapping[int, float]
    reduce_slots: Mapping[int, float]
    hosts: tuple[int, ...]
    sample_bytes: int
    seconds: float

    @property
    def ranks(self) -> int:
        """Return on how many ranks it was measured."""
        return len(self.hosts)

    def machines(self, partitions: int) -> tuple[Machine, ...]:
        """Return the planner's machines, one a transport: c_m, c_s, c_r for the whole input, c_s(j)."""
        return tuple(self._machine(partitions, name) for name in self.networks)

    def _machine(self, partitions: int, transport: str) -> Machine:
        values = self.value_bytes * self.input_bytes
        network = self.networks[transport]
        return Machine(
            costs=Costs(
                _cost(self.map_seconds * self.input_bytes),
                _cost(network.multicast.get(1, 0.0) * values),
                _cost(self.reduce_seconds * values / partitions + self.part_seconds),
            ),
            beta=network.over_unicast(network.multicast),
            alone=network.over_unicast(network.alone),
            hosts=self.hosts if any(self.hosts) else (),
            padding=tuple(map(_fraction, self.padding)),
            packet=_fraction(network.packet_seconds),
            group=_fraction(network.group_seconds),
            start=_fraction(network.shuffle_seconds),
            map_slots=_slots(self.map_slots),
            reduce_slots=_slots(self.reduce_slots),
            values=int(values),
            map_growth=self.map_growth,
            growth=self.value_growth,
            batches=self.ranks,
            transport=transport,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the profile, JSON-ready."""
        return {"format": _FORMAT, **_named(dataclasses.asdict(self))}

    @classmethod
    def load(cls, path: str) -> Profile:
        """Read a profile that `coded-mr calibrate` wrote; raises InputError when it is none."""
        try:
            document = json.loads(Path(path).read_text())
            if document.pop("format") != _FORMAT:
                raise ValueError(f"its format is not {_FORMAT}")
            document["networks"] = {
                name: Network(**{**network, **_numbered(network, "multicast", "alone")})
                for name, network in document["networks"].items()
            }
            document |= _numbered(document, "map_slots", "reduce_slots")
            document |= {name: tuple(document[name]) for name in ("padding", "hosts")}
            return cls(**document)
        except OSError as error:
            raise InputError(f"cannot read the profile {path}: {error.strerror}; check the path") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{path} is no profile ({error}): write one with `coded-mr calibrate JOB INPUT --json {path}`"
            ) from error

    def summary(self) -> str:
        """Return a few lines for people."""
        return "\n".join(
            [
                f"map        {_rate(self.map_seconds)} of input a second on one rank",
                f"values     {self.value_bytes:.3f} bytes of intermediate values for a byte of input"
                f"{self._in_batches()}",
                f"reduce     {_rate(self.reduce_seconds)} of values a second, "
                f"and {self.part_seconds * 1e3:.2f} ms a part, with writing",
                *self._at_once(),
                *(line for name, network in self.networks.items() for line in _network_lines(name, network)),
                f"measured   in {self.seconds:.3f} s, on {self.sample_bytes:,} bytes of {self.input_bytes:,}",
            ]
        )

    def _in_batches(self) -> str:
        if not self.value_growth:
            return ""
        return f" in {self.ranks} batches, {2**self.value_growth:.2f} times as many in twice as many"

    def _at_once(self) -> Iterator[str]:
        if self.ranks > 1:
            maps, reduces = (
                ", ".join(f"{count} as {served:.1f}" for count, served in sorted(slots.items()) if count > 1)
                for slots in (self.map_slots, self.reduce_slots)
            )
            yield f"at once    ranks map: {maps} that do not disturb each other; and reduce: {reduces}"


def _network_lines(name: str, network: Network) -> Iterator[str]:
    together, alone = (
        ", ".join(f"{j}: {_rate(seconds)}" for j, seconds in sorted(costs.items())) or "-"
        for costs in (network.multicast, network.alone)
    )
    yield f"{name:10} {together} a second by the number of receivers, all ranks sending;"
    yield f"           {alone} with one rank sending;"
    yield (
        f"           a packet {network.packet_seconds * 1e6:.0f} us beside its bytes, "
        f"a group {network.group_seconds * 1e6:.0f} us, a shuffle {network.shuffle_seconds * 1e6:.0f} us"
    )


def _rate(seconds_per_byte: float) -> str:
    return f"{1 / max(seconds_per_byte, 1e-12) / 1e6:.1f} MB"


def _between(measured: Mapping[int, float], count: int) -> float:
    """Return what was measured for a number, or what lies on a line between its neighbours."""
    if count in measured:
        return measured[count]
    below = max(j for j in measured if j < count)
    above = min(j for j in measured if j > count)
    share = (count - below) / (above - below)
    return (1 - share) * measured[below] + share * measured[above]


def _slots(measured: Mapping[int, float]) -> Slots:
    return tuple((count, _fraction(served)) for count, served in sorted(measured.items()))


def _named(document: Any) -> Any:
    """Return a document whose mappings have strings for keys, as JSON wants them."""
    if isinstance(document, dict):
        return {str(key): _named(value) for key, value in document.items()}
    return document


def _numbered(document: Mapping[str, Any], *names: str) -> dict[str, dict[int, float]]:
    """Return some mappings of a document, with numbers for keys again."""
    return {name: {int(key): float(value) for key, value in document[name].items()} for name in names}


def _cost(seconds: float) -> Fraction:
    return max(_fraction(seconds), _LEAST)


def _fraction(value: float) -> Fraction:
    return Fraction(value).limit_denominator(10**12)
