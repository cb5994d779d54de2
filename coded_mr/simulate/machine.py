"""The machine that a simulation pretends to have: costs, network, multicast, and ranks that map unevenly."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from math import exp, log, log1p, sqrt
from statistics import NormalDist
from typing import Literal

from coded_mr.errors import UsageError
from coded_mr.theory.checks import as_fraction
from coded_mr.theory.costs import Costs

__all__ = ["Distribution", "Machine", "Network", "Noise"]

Network = Literal["shared", "ports"]
Distribution = Literal["exponential", "lognormal"]

# Random factors are rounded to this many parts of 1, so that simulated times stay exact fractions.
_PARTS = 1 << 20


@dataclass(frozen=True)
class Noise:
    """Describe how the map times of the ranks scatter: each rank's are multiplied by one factor of mean 1.

    coefficient is the factor's standard deviation, 0 for no noise: "exponential" is the shifted exponential
    1 - c + c E (0 <= c <= 1), "lognormal" has any c >= 0. A rank draws one number a repetition, in the order
    of ranks: the first ranks of a larger world have the factors of a smaller one. Raises UsageError.
    """

    distribution: Distribution = "exponential"
    coefficient: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.distribution not in ("exponential", "lognormal"):
            raise UsageError(f"the noise is {self.distribution!r}: choose 'exponential' or 'lognormal'")
        most = 1.0 if self.distribution == "exponential" else 100.0
        if not 0 <= self.coefficient <= most:
            raise UsageError(
                f"the coefficient of {self.distribution} noise is {self.coefficient}:"
                f" it must lie between 0 and {most:g}"
            )

    def factors(self, repetition: int = 0) -> Iterator[Fraction]:
        """Yield the factor of rank 0, 1, ... without end; the same for the same seed and repetition."""
        if not self.coefficient:
            yield from (Fraction(1) for _ in count())
        source = random.Random(f"{self.seed}/{repetition}")
        while True:
            yield Fraction(max(1, round(self._factor(source.random()) * _PARTS)), _PARTS)

    def _factor(self, uniform: float) -> float:
        """Return the quantile of a number drawn from [0, 1)."""
        c = self.coefficient
        if self.distribution == "exponential":
            return 1 - c - c * log1p(-uniform)
        variance = log(1 + c * c)
        # inv_cdf needs an open interval, and random() can return 0.
        normal = NormalDist().inv_cdf(max(uniform, 1e-300))
        return exp(sqrt(variance) * normal - variance / 2)


@dataclass(frozen=True)
class Machine:
    """Describe a machine that need not exist. Times are exact, in the unit of the costs.

    costs      c_m, c_s, c_r; c_s is for QNT bits through the shared link, or through one port.
    network    "shared": one transmission at a time, the bus of the paper; "ports": every rank has a port
               to send and one to receive, behind a switch that never blocks.
    multicast  beta(1), beta(2), ...: how much longer a transmission to so many receivers takes than to
               one; the last value stands for all larger groups. "linear": beta(j) = j, a send to each in
               turn. (1,) is the paper's.
    overhead   seconds that every packet costs besides its bits; beta multiplies it too.
    noise      what multiplies the map times of the ranks.
    speeds     map speed of rank 0, 1, ... relative to c_m; ranks not named have speed 1.

    Raises UsageError unless beta(1) = 1, every beta >= 1, overhead >= 0 and all speeds > 0.
    """

    costs: Costs
    network: Network = "shared"
    multicast: tuple[Fraction, ...] | Literal["linear"] = (Fraction(1),)
    overhead: Fraction = Fraction(0)
    noise: Noise = Noise()
    speeds: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        """Take integers as Fractions and check the ranges."""
        if self.network not in ("shared", "ports"):
            raise UsageError(f"the network is {self.network!r}: choose 'shared' or 'ports'")
        object.__setattr__(self, "overhead", as_fraction(self.overhead, "the overhead of a packet"))
        speeds = tuple(as_fraction(speed, "a map speed") for speed in self.speeds)
        object.__setattr__(self, "speeds", speeds)
        if self.overhead < 0 or any(speed <= 0 for speed in speeds):
            raise UsageError("the overhead of a packet must be 0 or more, and every map speed more than 0")
        if self.multicast == "linear":
            return
        beta = tuple(as_fraction(value, "a multicast cost") for value in self.multicast)
        object.__setattr__(self, "multicast", beta)
        if not beta or beta[0] != 1 or min(beta) < 1:
            raise UsageError(
                f"the multicast costs are {', '.join(map(str, beta)) or 'empty'}: they are relative to a"
                " unicast, so the first must be 1 and none below 1"
            )

    def beta(self, receivers: int) -> Fraction:
        """Return the cost of a multicast to so many receivers (1 or more), relative to a unicast."""
        if self.multicast == "linear":
            return Fraction(receivers)
        return self.multicast[min(receivers, len(self.multicast)) - 1]

    def copy_time(self, load: Fraction, packets: int = 1) -> Fraction:
        """Return the seconds that one unicast copy of a load (units of QNT bits, in packets) takes."""
        return self.costs.shuffle * load + self.overhead * packets

    def slowness(self, repetition: int = 0) -> Iterator[Fraction]:
        """Yield for rank 0, 1, ... the factor by which its map takes longer than c_m says, without end."""
        for rank, factor in enumerate(self.noise.factors(repetition)):
            yield factor / self.speeds[rank] if rank < len(self.speeds) else factor
