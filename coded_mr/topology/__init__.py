"""Where ranks are in a network, and what its links carry for them."""

from __future__ import annotations

from coded_mr.topology.addresses import Address, own_address, sites_of
from coded_mr.topology.conf import parse, read_file, text_of, tree_of_addresses
from coded_mr.topology.fat_tree import Link, Node, Piece, links, pieces, route
from coded_mr.topology.hostlist import expand
from coded_mr.topology.lines import Burden, Travel, burden, line_loads
from coded_mr.topology.loads import Cables, count_cables, flows, level_maxima, link_loads, positions
from coded_mr.topology.placement import Placement, place
from coded_mr.topology.sites import Sites, locate
from coded_mr.topology.source import SLURM, read_topology
from coded_mr.topology.switches import TOP, Line, SwitchTree, one_switch

__all__ = [
    "SLURM",
    "TOP",
    "Address",
    "Burden",
    "Cables",
    "Line",
    "Link",
    "Node",
    "Piece",
    "Placement",
    "Sites",
    "SwitchTree",
    "Travel",
    "burden",
    "count_cables",
    "expand",
    "flows",
    "level_maxima",
    "line_loads",
    "link_loads",
    "links",
    "locate",
    "one_switch",
    "own_address",
    "parse",
    "pieces",
    "place",
    "positions",
    "read_file",
    "read_topology",
    "route",
    "sites_of",
    "text_of",
    "tree_of_addresses",
]
