"""Where ranks are in a network of switches, and the ways of packets between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from coded_mr.errors import UsageError
from coded_mr.topology.switches import Line, SwitchTree, one_switch

__all__ = ["Sites", "locate"]


@dataclass(frozen=True)
class Sites:
    """Say at which host of a network each rank is. Raises UsageError for a host that it has not."""

    tree: SwitchTree
    hosts: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse hosts that are not in the tree."""
        missing = sorted(set(self.hosts) - set(self.tree.hosts))
        if missing:
            raise UsageError(
                f"{', '.join(missing)} not among the {len(self.tree.hosts)} hosts of the topology"
            )

    @classmethod
    def on_one_switch(cls, hosts: Sequence[str]) -> Sites:
        """Return what is assumed when nothing is known but the hosts."""
        return cls(one_switch(hosts), tuple(hosts))

    @cached_property
    def climbs(self) -> tuple[tuple[str, ...], ...]:
        """Return, for each rank, its host and the switches above it."""
        return tuple(map(self.tree.climb, self.hosts))

    def way(self, tail: int, head: int) -> Iterator[Line]:
        """Yield the lines from one rank to another; none within a host."""
        up, down = self.climbs[tail], self.climbs[head]
        shared = len(set(up) & set(down))
        yield from (Line(*ends) for ends in pairwise(up[: len(up) - shared + 1]))
        yield from (Line(*ends) for ends in pairwise(reversed(down[: len(down) - shared + 1])))

    def multicast(self, sender: int, receivers: Iterable[int]) -> frozenset[Line]:
        """Return the lines that carry a packet when every switch copies it to where receivers are."""
        return frozenset(line for receiver in receivers for line in self.way(sender, receiver))

    def relay(self, sender: int, receivers: Sequence[int], turn: int) -> tuple[int, ...]:
        """Return the receivers in the order in which each passes a packet on to the next.

        It is a walk of the tree that starts at the sender and leaves no subtree before all receivers in it
        have been, nearest first: no line carries the packet twice in one direction, and ranks of a host
        follow each other. `turn` rotates the subtrees of every switch, so that packets take turns in who is
        last and need not pass on.
        """
        origin = self._steps[sender]

        def key(rank: int) -> tuple[int, list[int]]:
            steps = self._steps[rank]
            shared = next((at for at, (a, b) in enumerate(zip(steps, origin, strict=False)) if a != b), 0)
            return -shared, [(number + turn) % among for number, among in steps]

        return tuple(sorted(receivers, key=key))

    @cached_property
    def _steps(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Return, for each rank, which child it is below at each switch from the top, and of how many."""
        ways = [(*reversed(climb), str(rank)) for rank, climb in enumerate(self.climbs)]
        children: dict[str, dict[str, int]] = {}
        for way in ways:
            for above, below in pairwise(way):
                found = children.setdefault(above, {})
                found.setdefault(below, len(found))
        return tuple(
            tuple((children[above][below], len(children[above])) for above, below in pairwise(way))
            for way in ways
        )


def locate(tree: SwitchTree, names: Sequence[Sequence[str]]) -> Sites:
    """Return where ranks are that go by some names each, the likeliest first.

    A name with a domain also counts without. Raises UsageError that names ranks which are nowhere.
    """
    known = set(tree.hosts)
    found, lost = [], []
    for rank, own in enumerate(names):
        tried = [form for name in own for form in (name, name.partition(".")[0])]
        host = next((name for name in tried if name in known), None)
        if host is None:
            lost.append(f"rank {rank} on {own[0]}")
        else:
            found.append(host)
    if lost:
        shown = ", ".join(lost[:5]) + (", ..." if len(lost) > 5 else "")
        some = ", ".join(tree.hosts[:5]) + (", ..." if len(tree.hosts) > 5 else "")
        raise UsageError(f"the topology has no host for {shown}: it knows {some}; add the host at its switch")
    return Sites(tree, tuple(found))
