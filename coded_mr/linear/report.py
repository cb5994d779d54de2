"""What rank 0 says of one product: who finished, what travelled, how long it took."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from coded_mr.text import bytes_text, counted
from coded_mr.theory.straggling import Point

__all__ = ["ProductReport"]


@dataclass(frozen=True)
class ProductReport:
    """Describe one product.

    point      what theory says of it: K, mu, N, q, L
    rows       rows of the coded matrix, padding included; element_bytes  bytes of one value
    finishers  the servers that took part, ascending; latencies  seconds of their maps, in the order of
               finishing
    expected   the exact load of the packets, in units of `rows` values; L unless q does not divide N
    packets, payload, header  what the finishers sent, each multicast counted once
    discarded  messages of late servers, dead  ranks that have died, attempts  at a shuffle that were begun,
               all since the matrix was stored
    seconds    map (until the q-th server had finished), shuffle and decode (slowest finisher), total
    """

    point: Point
    rows: int
    element_bytes: int
    finishers: tuple[int, ...]
    latencies: dict[int, float]
    expected: Fraction
    packets: int
    payload: int
    header: int
    discarded: int
    dead: tuple[int, ...]
    attempts: int
    seconds: dict[str, float]

    @property
    def load(self) -> Fraction:
        """Return the measured load: payload bytes over those of `rows` values."""
        return Fraction(self.payload, self.rows * self.element_bytes)

    @property
    def latency(self) -> float:
        """Return the measured latency: the seconds that the last finisher took for its map."""
        return max(self.latencies.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON."""
        setting = self.point.setting
        return {
            "format": "coded-mr-product/1",
            "K": setting.K,
            "mu": str(setting.mu),
            "N": setting.N,
            "q": self.point.q,
            "rows": self.rows,
            "element_bytes": self.element_bytes,
            "finishers": list(self.finishers),
            "latencies": [{"rank": rank, "seconds": value} for rank, value in self.latencies.items()],
            "latency": {"formula": str(self.point.D), "seconds": self.latency},
            "load": {
                "formula": str(self.point.L),
                "expected": str(self.expected),
                "measured": str(self.load),
            },
            "packets": self.packets,
            "payload_bytes": self.payload,
            "header_bytes": self.header,
            "discarded": self.discarded,
            "dead": list(self.dead),
            "attempts": self.attempts,
            "seconds": self.seconds,
        }

    def summary(self) -> str:
        """Return a few lines for people."""
        setting = self.point.setting
        others = [str(server) for server in range(setting.K) if server not in self.latencies]
        waited = ", ".join(f"{rank} ({seconds:.3f} s)" for rank, seconds in self.latencies.items())
        died = f"; died: {', '.join(map(str, self.dead))}" if self.dead else ""
        took = ", ".join(f"{name} {value:.3f}" for name, value in self.seconds.items())
        return (
            f"finished  {waited}; not waited for: {', '.join(others) or 'none'}{died}\n"
            f"load      L = {self.point.L} ({float(self.point.L):.4g}), measured {float(self.load):.4g}:"
            f" {counted(self.packets, 'packet')}, {bytes_text(self.payload)} coded,"
            f" headers {bytes_text(self.header)}\n"
            f"seconds   {took}"
        )
