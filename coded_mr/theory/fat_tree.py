"""What coded shuffling costs the busiest link of a fat tree.

Wan, Ji, Caire, "Topological Coded Distributed Computing", 2020: a t-ary fat tree of switches joins K servers
that all map, send and reduce. Loads are in units of QNT bits; servers, pods and switches count from 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from coded_mr.errors import UsageError
from coded_mr.theory.counts import check_count
from coded_mr.theory.tradeoff import cascaded_load, uncoded_load

__all__ = ["LEVELS", "FatTree", "LevelLoad", "Position", "arity", "busiest_link", "level_bounds"]

LEVELS = ("server-edge", "edge-agg", "agg-core")
"""The levels of cables, from the servers up."""


class Position(NamedTuple):
    """Name a place for a server: its pod, its edge switch in the pod, its slot under the switch."""

    pod: int
    edge: int
    slot: int


@dataclass(frozen=True)
class FatTree:
    """Describe a t-ary fat tree, t even.

    (t/2)^2 cores; t pods of t/2 aggregation and t/2 edge switches, each edge switch with t/2 servers.
    Within a pod every edge switch has a cable to every aggregation switch; aggregation switch j of every
    pod has one to each of the cores j t/2 .. (j+1) t/2 - 1.
    Raises UsageError unless t is an even whole number, 2 or more.
    """

    t: int

    def __post_init__(self) -> None:
        """Refuse an arity that no tree has."""
        check_count(self.t, "the arity t of a fat tree", 2)
        if self.t % 2:
            raise UsageError(f"the arity t of a fat tree is {self.t}: it must be even")

    @property
    def half(self) -> int:
        """Return t/2: servers below an edge switch, ways up from it and from an aggregation switch."""
        return self.t // 2

    @property
    def hosts(self) -> int:
        """Return t^3/4, the servers that fit."""
        return self.t * self.half**2

    @property
    def switches(self) -> int:
        """Return 5t^2/4, the switches of all three levels."""
        return 5 * self.half**2

    def position(self, place: int) -> Position:
        """Return place 0..hosts-1, counted from the left.

        Raises UsageError when the tree has no such place.
        """
        if not 0 <= place < self.hosts:
            raise UsageError(f"place {place} is outside 0..{self.hosts - 1}, a fat tree of arity {self.t}")
        pod, within = divmod(place, self.half**2)
        return Position(pod, *divmod(within, self.half))


@dataclass(frozen=True)
class LevelLoad:
    """Hold what one cable of a level carries towards the cores (`up`), back (`down`), and in all (`both`)."""

    level: str
    up: Fraction
    down: Fraction
    both: Fraction


def arity(servers: int) -> int:
    """Return the smallest even t with t^3/4 >= servers, in whole numbers.

    Raises UsageError when there is no server.
    """
    check_count(servers, "the number of servers K")
    t = 2
    while t**3 < 4 * servers:
        t += 2
    return t


def busiest_link(K: int, r: int, s: int = 1) -> Fraction:
    """Return D = (L*(r, s) + s (1 - r/K)) / K, the least load of the busiest cable, both directions.

    No topology has less: the K servers' own cables carry all that is sent, and at least all that is lacking.
    It is at most L*, what a shared bus would carry. Raises UsageError unless r and s are in 1..K.
    Source: the paper's scheme; its optimality by adding up the servers' cables.
    """
    return level_bounds(K, r, s)[0].both


def level_bounds(K: int, r: int, s: int = 1) -> tuple[LevelLoad, ...]:
    """Return bounds on what any cable of each level carries, from the servers up.

    The servers' cables carry exactly that, and so, towards the cores, do those above a full switch or pod.
    Ranges as in `busiest_link`. Source: the paper, equations 6 to 12.
    """
    up = cascaded_load(K, r, s) / K
    down = s * uncoded_load(K, r) / K
    return tuple(LevelLoad(level, up, down, up + down) for level in LEVELS)
