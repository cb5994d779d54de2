"""A probe of the network: what multicasts to 1, 2, ... receivers cost on a real transport.

A shuffle takes F seconds, each of its packets p, each of their bytes b(j) to j receivers: few small packets,
many small ones and few large ones tell them apart. All transports are looked at with packets as small as
tell anything; what is worth measuring better is then known, and what that may cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from coded_mr.engine.profile import Network
from coded_mr.engine.trial import Trial, Trials

__all__ = ["Probe", "beaten"]

_SMALL = 128
_FIRST, _LARGE, _LARGEST, _STEP = 1 << 10, 64 << 10, 4 << 20, 4
_SLOW = 0.03  # seconds that bytes take when they stand out, and buffers on the way no longer hide them
_CHEAP = 0.02  # seconds of a trial that is done twice whatever the budget
_MANY = 8  # packets of a rank, to tell what each costs from what a shuffle costs
_CLEARLY = 1.5  # times as slow, for every number of receivers


class _Case(NamedTuple):
    """Name what is tried: packets to so many receivers, from all ranks or from one alone."""

    receivers: int
    alone: bool = False


@dataclass(frozen=True)
class _Point:
    """Hold a trial with small packets and one with packets of `size` bytes, of the same case."""

    small: Trial
    size: int
    large: Trial

    @property
    def _beyond(self) -> float:
        return self.large.seconds - self.small.seconds

    def stands_out(self, times: int = 1) -> bool:
        """Tell whether so many times the bytes take long, and long beside what even small packets take."""
        return times * self._beyond > max(_SLOW, self.small.seconds / 2)

    @property
    def moving(self) -> float:
        """Return the seconds that the large packets' bytes took beyond the small ones'."""
        # What is too short to stand out is at least a part of the whole.
        return max(self._beyond, self.large.seconds / 4)

    @property
    def per_byte(self) -> float:
        """Return the seconds for a byte."""
        return self.moving / (self.large.packets * (self.size - _SMALL))


class Probe:
    """Measure multicasts by one transport, all ranks sending, or one alone; the methods are collective."""

    def __init__(self, trials: Trials, partitions: int) -> None:
        """Prepare for multicasts to as many receivers as the ranks and partitions allow."""
        self._trials = trials
        self._most = min(trials.world.size - 1, partitions)
        self._cases = _cases(self._most)
        self._shuffle = self._packet = self._group = 0.0
        self._points: dict[_Case, _Point] = {}

    def look(self) -> None:
        """Find out roughly what shuffles, packets, and bytes to one, two and all receivers cost."""
        if not self._cases:
            return
        few = self._try(_Case(self._most), _SMALL)
        many = self._trials.run(self._most, _SMALL, each=_MANY)
        self._packet = max(many.seconds - few.seconds, 0.0) / (many.packets - few.packets)
        self._shuffle = max(few.seconds - few.packets * self._packet, 0.0)
        self._group = many.group_seconds / max(many.groups, 1)
        # One receiver tells nothing of many, nor two of more: these are measured on the slowest network.
        for case in self._cases:
            if case.receivers not in (1, 2, self._most):
                continue
            small = few if case == _Case(self._most) else self._try(case, _SMALL)
            point = self._point(case, small, _FIRST)
            while point.size < _LARGE and not point.stands_out():
                step = _STEP if point.stands_out(_LARGE // point.size) else _LARGE // point.size
                point = self._point(case, small, point.size * step)
            if point.large.seconds < _CHEAP:
                self._again(case)

    def refine(self, budget: float) -> None:
        """Measure with larger packets, and more numbers of receivers, while the budget (seconds) lasts."""
        spent = 0.0
        for done, case in enumerate(self._cases):
            spent += self._refine(case, (budget - spent) / (len(self._cases) - done))

    def network(self) -> Network:
        """Return what has been found so far."""
        together, alone = self._found(False), self._found(True)
        return Network(together, alone, self._packet, self._group, self._shuffle)

    def _found(self, alone: bool) -> dict[int, float]:
        found = {
            case.receivers: point.per_byte for case, point in self._points.items() if case.alone == alone
        }
        return _undisturbed(found)

    def _refine(self, case: _Case, budget: float) -> float:
        """Measure one case as well as the budget allows; return the seconds it took."""
        spent = 0.0
        if case not in self._points:
            like = self._points[_Case(self._most)]
            if like.small.seconds + like.large.seconds > budget:
                return spent
            small = self._try(case, _SMALL)
            spent += small.seconds + self._point(case, small, like.size).large.seconds
        point = self._points[case]
        while point.size < _LARGEST and _STEP * point.large.seconds < budget - spent:
            point = self._point(case, point.small, point.size * _STEP)
            spent += point.large.seconds
        if point.large.seconds < budget - spent:
            spent += self._again(case)
        return spent

    def _try(self, case: _Case, size: int) -> Trial:
        return self._trials.run(case.receivers, size, alone=case.alone)

    def _point(self, case: _Case, small: Trial, size: int) -> _Point:
        """Try packets of that size, and keep what is found."""
        point = self._points[case] = _Point(small, size, self._try(case, size))
        return point

    def _again(self, case: _Case) -> float:
        """Repeat a trial, keep the better one (what disturbs it makes it slower), return its seconds."""
        point = self._points[case]
        again = self._try(case, point.size)
        better = min(point.large, again, key=lambda trial: trial.seconds)
        self._points[case] = replace(point, large=better)
        return again.seconds


def beaten(networks: Mapping[str, Network]) -> set[str]:
    """Return the transports that another one beats clearly, whatever the number of receivers.

    Only numbers measured of both count. Better ones would not change what is chosen.
    """
    return {
        name
        for name, network in networks.items()
        if any(_beats(other, network) for rival, other in networks.items() if rival != name)
    }


def _beats(network: Network, other: Network) -> bool:
    both = (network.multicast, other.multicast), (network.alone, other.alone)
    pairs = [(fast[j], slow[j]) for fast, slow in both for j in fast.keys() & slow.keys()]
    return bool(pairs) and all(_CLEARLY * fast < slow for fast, slow in pairs)


def _undisturbed(per_byte: Mapping[int, float]) -> dict[int, float]:
    """Return the costs such that more receivers never cost less: what disturbs a probe makes it slower."""
    return {j: min(cost for more, cost in per_byte.items() if more >= j) for j in sorted(per_byte)}


def _cases(most: int) -> list[_Case]:
    """Return what to try, in the order in which it matters."""
    ends = [_Case(j, alone) for alone in (False, True) for j in (1, most)]
    between = [_Case(j) for j in (2, 3, 4, 6, 8, 12, 16, 24, 32) if j < most]
    return list(dict.fromkeys([*ends, *between])) if most else []
