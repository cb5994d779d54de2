"""Which rank plays which part of a plan, so that packets seldom climb the network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from coded_mr.errors import PlanError
from coded_mr.plan.model import Plan
from coded_mr.plan.relabel import relabelled
from coded_mr.text import counted
from coded_mr.topology.lines import Burden, burden, line_loads
from coded_mr.topology.loads import flows
from coded_mr.topology.sites import Sites

__all__ = ["Placement", "place"]

_Bits: TypeAlias = npt.NDArray[np.bool_]
_Numbers: TypeAlias = npt.NDArray[np.float64]

# Exchanges are tried until so many (flow, subtree) pairs have been looked at: about two seconds.
_MOST_STEPS = 100_000_000
# Loads are compared as floating-point numbers; smaller gains than this share are none.
_LEAST_GAIN = 1e-9


@dataclass(frozen=True)
class Placement:
    """Hold the rank that plays each part of a plan, and the burden so and as the ranks are numbered."""

    ranks: tuple[int, ...]
    burden: Burden
    before: Burden

    def describe(self) -> tuple[str, ...]:
        """Return a line or two for people."""
        moved = sum(part != rank for part, rank in enumerate(self.ranks))
        lines = (f"loads, if switches multicast: {self.burden}",)
        return (*lines, f"{counted(moved, 'part')} moved; as numbered: {self.before}") if moved else lines

    def to_dict(self) -> dict[str, Any]:
        """Return everything, JSON-ready; loads as exact fractions in strings."""
        line = self.burden.busiest
        return {
            "total": str(self.burden.total),
            "busiest": str(self.burden.most),
            "busiest_from": None if line is None else line.tail,
            "busiest_to": None if line is None else line.head,
            "total_as_numbered": str(self.before.total),
            "busiest_as_numbered": str(self.before.most),
            "parts": list(self.ranks),
        }


def place(plan: Plan, sites: Sites) -> Placement:
    """Choose a rank for each part, when switches copy multicasts to where receivers are.

    Starts from rank k in part k and exchanges two ranks, spares too, as long as the load of all lines
    together falls and that of the busiest does not rise above what it was at first, or falls alone. A local
    optimum, or what was reached after some seconds. Never worse than the start in either. Raises PlanError
    when there are fewer ranks than parts.
    """
    if plan.ranks > len(sites.hosts):
        raise PlanError(f"a plan for {plan.ranks} ranks does not fit {len(sites.hosts)}")
    first = tuple(range(plan.ranks))
    before = burden(line_loads(plan, sites, "multicast"))
    found = _search(plan, sites)
    if found == first:
        return Placement(first, before, before)
    after = burden(line_loads(relabelled(plan, found), sites, "multicast"))
    better = (after.total, after.most) < (before.total, before.most) and after.most <= before.most
    return Placement(found, after, before) if better else Placement(first, before, before)


def _search(plan: Plan, sites: Sites) -> tuple[int, ...]:
    """Return the rank for each part that exchanges lead to."""
    network = _Network(plan, sites)
    seats = list(range(len(sites.hosts)))  # the first `plan.ranks` are the parts', the others spare
    if not network.flows or not network.subtrees:
        return tuple(seats[: plan.ranks])
    best = start = network.cost(seats)
    steps = network.flows * network.subtrees
    tries = max(_MOST_STEPS // steps, 1)
    improved = True
    while improved and tries > 0:
        improved = False
        for a, b in _exchanges(seats, plan.ranks, sites.hosts):
            tries -= 1
            if tries < 0:
                break
            seats[a], seats[b] = seats[b], seats[a]
            cost = network.cost(seats)
            if cost.busiest <= start.busiest * (1 + _LEAST_GAIN) and cost.is_below(best):
                best, improved = cost, True
            else:
                seats[a], seats[b] = seats[b], seats[a]
    return tuple(seats[: plan.ranks])


def _exchanges(seats: Sequence[int], parts: int, hosts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield pairs of seats whose ranks are at different hosts, the first of them a part's."""
    for a in range(parts):
        for b in range(a + 1, len(seats)):
            if hosts[seats[a]] != hosts[seats[b]]:
                yield a, b


@dataclass(frozen=True)
class _Cost:
    total: float
    busiest: float

    def is_below(self, other: _Cost) -> bool:
        """Tell whether the total is less by more than rounding, or as much and the busiest less."""
        if abs(self.total - other.total) > _LEAST_GAIN * other.total:
            return self.total < other.total
        return self.busiest < other.busiest * (1 - _LEAST_GAIN)


class _Network:
    """The loads of all lines as array operations: a line is what is above a subtree of ranks."""

    def __init__(self, plan: Plan, sites: Sites) -> None:
        sent = flows(plan)
        self.flows = len(sent)
        ups = [line.tail for line in sites.tree.lines]
        below = np.array([[tail in climb for tail in ups] for climb in sites.climbs], dtype=bool)
        self._below: _Bits = below[:, below.any(axis=0) & ~below.all(axis=0)]
        self.subtrees = self._below.shape[1]
        self._senders = np.array([sender for sender, _ in sent], dtype=np.intp)
        self._receives = np.zeros((len(sent), len(sites.hosts)), dtype=np.float32)
        for number, (_, receivers) in enumerate(sent):
            self._receives[number, list(receivers)] = 1
        self._receivers = self._receives.sum(axis=1)[:, None]
        self._loads: _Numbers = np.array([float(load) for load in sent.values()])

    def cost(self, seats: Sequence[int]) -> _Cost:
        """Return what the lines carry with these ranks for the parts."""
        below = self._below[np.asarray(seats)]
        inside = self._receives @ below.astype(np.float32)
        sends = below[self._senders]
        up = self._loads @ (sends & (inside < self._receivers))
        down = self._loads @ (~sends & (inside > 0))
        return _Cost(float(up.sum() + down.sum()), float(max(up.max(), down.max())))
