"""The ways of a packet's pieces through a fat tree.

Source: Wan, Ji, Caire, "Topological Coded Distributed Computing", 2020. An edge switch cuts a packet into
t/2 pieces, one for each aggregation switch of its pod, which cuts its own into t/2, one for each of its
cores. Everything goes up to the cores and comes down only to where receivers are, who are served from the
lowest switch that has all pieces: the sender's edge or pod on the way up, the cores for all other pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple

from coded_mr.theory.fat_tree import LEVELS, FatTree, Position

__all__ = ["Link", "Node", "Piece", "links", "pieces", "route"]

_RANK = {"server": 0, "edge": 1, "aggregation": 2, "core": 3}


class Node(NamedTuple):
    """Name a server ("server") or a switch ("edge", "aggregation", "core").

    `number` counts within the pod, at the cores within all; the pod of a core is -1.
    """

    kind: str
    pod: int
    number: int


class Link(NamedTuple):
    """Name one direction of a cable."""

    tail: Node
    head: Node

    @property
    def up(self) -> bool:
        """Tell whether it leads towards the cores."""
        return _RANK[self.tail.kind] < _RANK[self.head.kind]

    @property
    def level(self) -> str:
        """Return which of LEVELS it belongs to."""
        return LEVELS[min(_RANK[self.tail.kind], _RANK[self.head.kind])]

    @property
    def reverse(self) -> Link:
        """Return the other direction of the cable."""
        return Link(self.head, self.tail)


class Piece(NamedTuple):
    """Name one of the (t/2)^2 equal pieces of a packet by its way up: aggregation switch, then core of it."""

    aggregation: int
    core: int


def pieces(tree: FatTree) -> Iterator[Piece]:
    """Yield the pieces that every packet is cut into."""
    return (Piece(j, d) for j, d in product(range(tree.half), repeat=2))


def links(tree: FatTree) -> Iterator[Link]:
    """Yield every link of the tree that leads up; `reverse` gives the others."""
    h = tree.half
    for pod, edge, other in product(range(tree.t), range(h), range(h)):
        below, above = Node("edge", pod, edge), Node("aggregation", pod, edge)
        yield Link(_server(tree, Position(pod, edge, other)), below)
        yield Link(below, Node("aggregation", pod, other))
        yield Link(above, _core(tree, Piece(edge, other)))


def route(tree: FatTree, sender: Position, receivers: Iterable[Position], piece: Piece) -> Iterator[Link]:
    """Yield the links that one piece of a packet travels, each once.

    All pieces take the same link between a server and its edge switch, where they add up to the packet.
    """
    core, own = _core(tree, piece), _edge(sender)
    yield Link(_server(tree, sender), own)
    yield Link(own, Node("aggregation", sender.pod, piece.aggregation))
    yield Link(Node("aggregation", sender.pod, piece.aggregation), core)
    there = set(receivers)
    for pod in {place.pod for place in there} - {sender.pod}:
        yield Link(core, Node("aggregation", pod, piece.aggregation))
    for edge in {_edge(place) for place in there} - {own}:
        yield Link(Node("aggregation", edge.pod, piece.aggregation), edge)
    for place in there:
        yield Link(_edge(place), _server(tree, place))


def _edge(place: Position) -> Node:
    return Node("edge", place.pod, place.edge)


def _server(tree: FatTree, place: Position) -> Node:
    return Node("server", place.pod, place.edge * tree.half + place.slot)


def _core(tree: FatTree, piece: Piece) -> Node:
    return Node("core", -1, piece.aggregation * tree.half + piece.core)
