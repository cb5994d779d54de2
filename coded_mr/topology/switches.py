"""A network as a tree of switches with hosts below them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from coded_mr.errors import UsageError

__all__ = ["TOP", "Line", "SwitchTree", "climb", "one_switch"]

TOP = "*"
"""What joins several switches that have none above them: a network of which nothing more is known."""


class Line(NamedTuple):
    """Name one direction of what joins a host or switch to the switch above it, by its two ends.

    Several cables between the same two count as one line.
    """

    tail: str
    head: str

    @property
    def reverse(self) -> Line:
        """Return the other direction."""
        return Line(self.head, self.tail)


def climb(above: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Return a name, what is above it, and so on to the top. Raises UsageError when that is a circle."""
    way = [name]
    while (upper := above.get(way[-1])) is not None:
        if upper in way:
            raise UsageError(f"switches in a circle: {' below '.join([*way[way.index(upper) :], upper])}")
        way.append(upper)
    return tuple(way)


@dataclass(frozen=True)
class SwitchTree:
    """Say which switch is above each host and each switch; the one at the top has none.

    Names of hosts and switches differ. Raises UsageError for a tree without hosts, a host that others are
    below, more than one top, and switches in a circle.
    """

    hosts: tuple[str, ...]
    above: Mapping[str, str]

    def __post_init__(self) -> None:
        """Refuse what is not a tree."""
        if not self.hosts:
            raise UsageError("a network without hosts: name some, such as `SwitchName=s1 Nodes=h[1-4]`")
        upper = set(self.above.values())
        for host in self.hosts:
            if host in upper:
                raise UsageError(f"{host} is both a host and a switch: give one of them another name")
            if host not in self.above:
                raise UsageError(f"host {host} is at no switch: name it in the Nodes= of one")
        for name in self.above:
            climb(self.above, name)
        tops = sorted(upper - self.above.keys())
        if len(tops) > 1:
            raise UsageError(f"switches {', '.join(tops)} are all at the top: name one switch above them")

    def climb(self, host: str) -> tuple[str, ...]:
        """Return a host and the switches above it, to the top."""
        return climb(self.above, host)

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """Return every line that leads up; `reverse` gives the others."""
        return tuple(Line(below, above) for below, above in self.above.items())

    @cached_property
    def below(self) -> Mapping[str, tuple[str, ...]]:
        """Return what is directly below each switch, in the order in which it was named."""
        found: dict[str, list[str]] = {}
        for name, switch in self.above.items():
            found.setdefault(switch, []).append(name)
        return {switch: tuple(names) for switch, names in found.items()}

    def hosts_below(self, switch: str) -> tuple[str, ...]:
        """Return the hosts anywhere below a switch."""
        return tuple(host for host in self.hosts if switch in self.climb(host))


def one_switch(hosts: Iterable[str]) -> SwitchTree:
    """Return the network of which only the hosts are known: all at one switch."""
    names = tuple(dict.fromkeys(hosts))
    return SwitchTree(names, dict.fromkeys(names, TOP))
