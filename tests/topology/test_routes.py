"""Routes of pieces: each reaches its receivers by cables that exist, and climbs as the scheme says."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.theory.fat_tree import LEVELS, FatTree
from coded_mr.topology import Link, Node, links, pieces, route


@pytest.mark.parametrize("t", [2, 4, 6])
def test_the_cables_are_those_of_a_fat_tree(t: int) -> None:
    tree = FatTree(t)
    every = list(links(tree))
    assert len(set(every)) == len(every) == 3 * tree.hosts
    assert Counter(link.level for link in every) == dict.fromkeys(LEVELS, tree.hosts)
    assert all(link.up and not link.reverse.up and link.reverse.reverse == link for link in every)
    ports = Counter(node for link in every for node in link)
    switches = {node: count for node, count in ports.items() if node.kind != "server"}
    assert len(switches) == tree.switches
    assert set(switches.values()) == {t}
    for j in range(tree.switches - tree.t**2):
        pods = [link.tail.pod for link in every if link.head == Node("core", -1, j)]
        assert sorted(pods) == list(range(t))


@given(st.sampled_from([2, 4, 6]), st.data())
def test_every_piece_reaches_every_receiver_and_no_one_else(t: int, data: st.DataObject) -> None:
    tree = FatTree(t)
    place = st.integers(0, tree.hosts - 1)
    sender = data.draw(place)
    receivers = data.draw(st.sets(place.filter(lambda p: p != sender), min_size=1))
    cables = {way for link in links(tree) for way in (link, link.reverse)}
    where = [tree.position(p) for p in range(tree.hosts)]
    for piece in pieces(tree):
        taken = list(route(tree, where[sender], [where[p] for p in receivers], piece))
        assert len(set(taken)) == len(taken)
        assert set(taken) <= cables
        # Every node but the sender's gets the piece once, from a node that has it already.
        parent = {link.head: link.tail for link in taken}
        assert len(parent) == len(taken)
        start = _server(tree, sender)
        assert all(_origin(parent, link.head) == start for link in taken)
        got = {link.head for link in taken if link.head.kind == "server"}
        assert got == {_server(tree, p) for p in receivers}
        # All goes up to one core, and nothing comes down where no receiver is.
        assert [link.head.kind for link in taken if link.up] == ["edge", "aggregation", "core"]
        useful = {link.tail for link in taken}
        assert all(link.head in useful for link in taken if not link.up and link.head.kind != "server")


def test_pieces_of_a_packet_take_different_ways_up() -> None:
    tree = FatTree(6)
    sender, receiver = tree.position(0), tree.position(53)
    tops = {link.head for piece in pieces(tree) for link in route(tree, sender, [receiver], piece) if link.up}
    assert Counter(node.kind for node in tops) == {"edge": 1, "aggregation": 3, "core": 9}


def _server(tree: FatTree, place: int) -> Node:
    pod, index = divmod(place, tree.half**2)
    return Node("server", pod, index)


def _origin(parent: dict[Node, Node], node: Node) -> Node:
    for _ in parent:
        if node in parent:
            node = parent[node]
    return node


def test_a_link_knows_its_level_and_direction() -> None:
    down = Link(Node("core", -1, 3), Node("aggregation", 2, 1))
    assert (down.level, down.up) == ("agg-core", False)
