"""What calibration measured, as a value that can be stored and used again."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from coded_mr.errors import InputError
from coded_mr.plan.machine import Machine
from coded_mr.theory.costs import Costs

__all__ = ["Profile"]

_FORMAT = "coded-mr-profile/1"

# A cost of zero has no optimum: what is too quick to measure counts as a nanosecond.
_LEAST = Fraction(1, 10**9)


@dataclass(frozen=True)
class Profile:
    """Hold the measured costs of a job on some ranks.

    input_bytes    of the whole input (estimated where it is compressed)
    map_seconds    for a byte of input, on one rank alone
    value_bytes    of intermediate values for a byte of input, after combining
    reduce_seconds for a byte of intermediate values
    multicast      seconds for a byte multicast to j receivers, with all ranks sending at once: {j: seconds}
    packet_seconds, group_seconds  for a packet beside its bytes, and to set up a group
    padding        length of a packet that combines 1, 2, ... values over their mean length
    slots          ranks that can compute at once; None: all
    sample_bytes   of the input that were mapped to find out; seconds: how long all of it took
    """

    input_bytes: int
    map_seconds: float
    value_bytes: float
    reduce_seconds: float
    multicast: Mapping[int, float]
    packet_seconds: float
    group_seconds: float
    padding: tuple[float, ...]
    slots: int | None
    ranks: int
    sample_bytes: int
    seconds: float

    def machine(self, partitions: int) -> Machine:
        """Return the planner's machine: c_m, c_s, c_r for the whole input, c_s(j) for each j."""
        values = self.value_bytes * self.input_bytes
        unicast = self.multicast.get(1, 0.0)
        return Machine(
            costs=Costs(
                _cost(self.map_seconds * self.input_bytes),
                _cost(unicast * values),
                _cost(self.reduce_seconds * values / partitions),
            ),
            beta=tuple(_fraction(self._per_byte(j) / unicast) for j in range(1, self._most + 1)),
            padding=tuple(map(_fraction, self.padding)),
            packet=_fraction(self.packet_seconds),
            group=_fraction(self.group_seconds),
            slots=self.slots,
            values=int(values),
        )

    @property
    def _most(self) -> int:
        return max(self.multicast, default=0) if self.multicast.get(1) else 0

    def _per_byte(self, receivers: int) -> float:
        """Return the seconds for a byte to so many receivers; between those measured, on a line."""
        if receivers in self.multicast:
            return self.multicast[receivers]
        below = max(j for j in self.multicast if j < receivers)
        above = min(j for j in self.multicast if j > receivers)
        share = (receivers - below) / (above - below)
        return (1 - share) * self.multicast[below] + share * self.multicast[above]

    def to_dict(self) -> dict[str, Any]:
        """Return the profile, JSON-ready."""
        numbers = dataclasses.asdict(self)
        numbers["multicast"] = {str(j): seconds for j, seconds in self.multicast.items()}
        return {"format": _FORMAT, **numbers}

    @classmethod
    def load(cls, path: str) -> Profile:
        """Read a profile that `coded-mr calibrate` wrote; raises InputError when it is none."""
        try:
            document = json.loads(Path(path).read_text())
            if document.pop("format") != _FORMAT:
                raise ValueError(f"its format is not {_FORMAT}")
            document["multicast"] = {int(j): float(s) for j, s in document["multicast"].items()}
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
        rates = ", ".join(f"{j}: {1 / s / 1e6:.0f}" for j, s in sorted(self.multicast.items()) if s)
        return "\n".join(
            [
                f"map        {1 / max(self.map_seconds, 1e-12) / 1e6:.1f} MB of input a second on one rank",
                f"values     {self.value_bytes:.3f} bytes of intermediate values for a byte of input",
                f"reduce     {1 / max(self.reduce_seconds, 1e-12) / 1e6:.1f} MB of values a second",
                f"multicast  {rates or '-'} MB a second by the number of receivers, all ranks sending",
                f"packet     {self.packet_seconds * 1e6:.0f} us; a group {self.group_seconds * 1e6:.0f} us",
                f"slots      {self.slots or 'all'} of {self.ranks} ranks can compute at once",
                f"measured   in {self.seconds:.3f} s, on {self.sample_bytes:,} bytes of {self.input_bytes:,}",
            ]
        )


def _cost(seconds: float) -> Fraction:
    return max(_fraction(seconds), _LEAST)


def _fraction(value: float) -> Fraction:
    return Fraction(value).limit_denominator(10**12)
