"""Layouts: the right nodes and cables, each with what makes it work. Needs no rights."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.cluster import ClusterError, Layout, fat_tree, star

LAYOUTS = [star(1, "none"), star(4, "switch"), star(12, "bus"), fat_tree(2), fat_tree(4), fat_tree(6)]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_node_is_wired_and_set_up(layout: Layout) -> None:
    nodes = {*layout.addresses, *layout.switches}
    ends = [end for cable in layout.cables for end in cable.ends]
    assert {node for node, _ in ends} == nodes == set(layout.setup)
    assert len(set(ends)) == len(ends)
    assert Counter(node for node, port in ends if port == "eth0") == dict.fromkeys(layout.addresses, 1)
    assert len(set(layout.addresses.values())) == len(layout.addresses)
    for host, address in layout.addresses.items():
        assert any(line.startswith(f"addr add {address}/") for line in layout.setup[host])
    for node, port in ends:
        assert len(port) < 16, "the kernel's limit for the name of an interface"
        assert any(f"set {port} " in line for line in layout.setup[node])


def test_only_the_links_of_a_switch_are_limited_one_by_one() -> None:
    assert [cable.a for cable in star(3, "switch").cables if cable.limited] == ["h1", "h2", "h3"]
    assert not any(cable.limited for cable in star(3, "bus").cables)
    assert not any(cable.limited for cable in star(3, "none").cables)


@pytest.mark.parametrize("t", [2, 4, 6])
def test_a_fat_tree_has_its_hosts_routers_and_links(t: int) -> None:
    layout = fat_tree(t)
    assert len(layout.addresses) - 1 == t**3 // 4
    assert len(layout.switches) == 5 * t**2 // 4
    limited = [cable for cable in layout.cables if cable.limited]
    assert len(limited) == 3 * t**3 // 4
    ports = Counter(node for cable in limited for node, _ in cable.ends if node in layout.switches)
    assert set(ports.values()) == {t}


def test_what_cannot_be_laid_out_is_refused() -> None:
    for hosts in (0, 251):
        with pytest.raises(ClusterError, match="hosts"):
            star(hosts, "switch")
    with pytest.raises(ClusterError, match="mode"):
        star(4, "ring")
    for t in (0, 3, 16):
        with pytest.raises(ClusterError, match="arity"):
            fat_tree(t)
