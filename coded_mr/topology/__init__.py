"""Where ranks are in a network, and what its links carry for them."""

from __future__ import annotations

from coded_mr.topology.fat_tree import Link, Node, Piece, links, pieces, route
from coded_mr.topology.loads import Cables, count_cables, flows, level_maxima, link_loads, positions
from coded_mr.topology.placement import place, total_load

__all__ = [
    "Cables",
    "Link",
    "Node",
    "Piece",
    "count_cables",
    "flows",
    "level_maxima",
    "link_loads",
    "links",
    "pieces",
    "place",
    "positions",
    "route",
    "total_load",
]
