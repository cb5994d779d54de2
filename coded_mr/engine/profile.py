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
from coded_mr.plan.machine import Machine
from coded_mr.theory.costs import Costs

__all__ = ["Network", "Profile"]

_FORMAT = "coded-mr-profile/2"

# A cost of zero has no optimum: what is too quick to measure counts as a nanosecond.
_LEAST = Fraction(1, 10**9)


@dataclass(frozen=True)
class Network:
    """Hold what multicasts cost by one transport.

    multicast      seconds for a byte multicast to j receivers, with all ranks sending at once: {j: seconds}
    packet_seconds, group_seconds  for a packet beside its bytes, and to set up a group
    shuffle_seconds  for a shuffle beside its packets
    """

    multicast: Mapping[int, float]
    packet_seconds: float
    group_seconds: float
    shuffle_seconds: float

    def per_byte(self, receivers: int) -> float:
        """Return the seconds for a byte to so many receivers; between those measured, on a line."""
        if receivers in self.multicast:
            return self.multicast[receivers]
        below = max(j for j in self.multicast if j < receivers)
        above = min(j for j in self.multicast if j > receivers)
        share = (receivers - below) / (above - below)
        return (1 - share) * self.multicast[below] + share * self.multicast[above]

    def beta(self) -> tuple[float, ...]:
        """Return the cost of a multicast to 1, 2, ... receivers over that of a unicast."""
        unicast = self.multicast.get(1, 0.0)
        most = max(self.multicast) if unicast else 0
        return tuple(self.per_byte(j) / unicast for j in range(1, most + 1))


@dataclass(frozen=True)
class Profile:
    """Hold the measured costs of a job on some ranks.

    input_bytes    of the whole input (estimated where it is compressed)
    map_seconds    for a byte of input, on one rank alone
    value_bytes    of intermediate values for a byte of input, after combining
    reduce_seconds for a byte of intermediate values, with writing; part_seconds: for each part beside that
    networks       what multicasts cost, by transport
    padding        length of a packet that combines 1, 2, ... values over their mean length
    map_slots, reduce_slots  ranks' worth of work that is done when all ranks work at once
    sample_bytes   of the input that were mapped to find out; seconds: how long all of it took
    """

    input_bytes: int
    map_seconds: float
    value_bytes: float
    reduce_seconds: float
    part_seconds: float
    networks: Mapping[str, Network]
    padding: tuple[float, ...]
    map_slots: float
    reduce_slots: float
    ranks: int
    sample_bytes: int
    seconds: float

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
            beta=tuple(map(_fraction, network.beta())),
            padding=tuple(map(_fraction, self.padding)),
            packet=_fraction(network.packet_seconds),
            group=_fraction(network.group_seconds),
            start=_fraction(network.shuffle_seconds),
            map_slots=self._slots(self.map_slots),
            reduce_slots=self._slots(self.reduce_slots),
            values=int(values),
            transport=transport,
        )

    def _slots(self, slots: float) -> Fraction | None:
        return None if slots >= self.ranks else _fraction(slots)

    def to_dict(self) -> dict[str, Any]:
        """Return the profile, JSON-ready."""
        numbers = dataclasses.asdict(self)
        for network in numbers["networks"].values():
            network["multicast"] = {str(j): seconds for j, seconds in network["multicast"].items()}
        return {"format": _FORMAT, **numbers}

    @classmethod
    def load(cls, path: str) -> Profile:
        """Read a profile that `coded-mr calibrate` wrote; raises InputError when it is none."""
        try:
            document = json.loads(Path(path).read_text())
            if document.pop("format") != _FORMAT:
                raise ValueError(f"its format is not {_FORMAT}")
            document["networks"] = {
                name: Network(**{**network, "multicast": _by_receivers(network["multicast"])})
                for name, network in document["networks"].items()
            }
            document["padding"] = tuple(document["padding"])
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
                f"values     {self.value_bytes:.3f} bytes of intermediate values for a byte of input",
                f"reduce     {_rate(self.reduce_seconds)} of values a second, "
                f"and {self.part_seconds * 1e3:.2f} ms a part, with writing",
                f"at once    {self.ranks} ranks map as {self.map_slots:.1f} that do not disturb each other, "
                f"and reduce as {self.reduce_slots:.1f}",
                *(line for name, network in self.networks.items() for line in _network_lines(name, network)),
                f"measured   in {self.seconds:.3f} s, on {self.sample_bytes:,} bytes of {self.input_bytes:,}",
            ]
        )


def _network_lines(name: str, network: Network) -> Iterator[str]:
    rates = ", ".join(f"{j}: {_rate(seconds)}" for j, seconds in sorted(network.multicast.items()))
    yield f"{name:10} {rates or '-'} a second by the number of receivers, all ranks sending;"
    yield (
        f"           a packet {network.packet_seconds * 1e6:.0f} us beside its bytes, "
        f"a group {network.group_seconds * 1e6:.0f} us, a shuffle {network.shuffle_seconds * 1e6:.0f} us"
    )


def _rate(seconds_per_byte: float) -> str:
    return f"{1 / max(seconds_per_byte, 1e-12) / 1e6:.1f} MB"


def _by_receivers(multicast: Mapping[str, float]) -> dict[int, float]:
    return {int(j): float(seconds) for j, seconds in multicast.items()}


def _cost(seconds: float) -> Fraction:
    return max(_fraction(seconds), _LEAST)


def _fraction(value: float) -> Fraction:
    return Fraction(value).limit_denominator(10**12)
