"""Ways between ranks in any tree, and the order in which a packet is passed on."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import UsageError
from coded_mr.topology import Line, Sites, locate
from tests.topology.networks import PODS, TWO_SWITCHES, any_sites

RANKS = 9


def test_ways_climb_no_higher_than_they_must() -> None:
    sites = Sites(PODS, tuple(f"h{k}" for k in (0, 1, 2, 15, 0)))
    assert list(sites.way(0, 1)) == [Line("h0", "e0"), Line("e0", "h1")]
    assert [line.head for line in sites.way(0, 2)] == ["e0", "pod0", "e1", "h2"]
    assert [line.head for line in sites.way(3, 0)] == ["e7", "pod3", "core", "pod0", "e0", "h0"]
    assert list(sites.way(0, 4)) == []


@given(any_sites(RANKS), st.integers(0, RANKS - 1), st.integers(0, RANKS - 1))
def test_ways_are_connected_and_simple(sites: Sites, tail: int, head: int) -> None:
    way = list(sites.way(tail, head))
    ends = [sites.hosts[tail], *(line.head for line in way)]
    assert [line.tail for line in way] == ends[:-1]
    assert ends[-1] == sites.hosts[head]
    assert len(set(ends)) == len(ends)
    known = {line for up in sites.tree.lines for line in (up, up.reverse)}
    assert set(way) <= known
    assert [line.reverse for line in reversed(way)] == list(sites.way(head, tail))


@given(any_sites(RANKS), st.data(), st.integers(0, 1000))
def test_a_relay_crosses_no_line_twice_in_one_direction(sites: Sites, data: st.DataObject, turn: int) -> None:
    members = data.draw(st.lists(st.integers(0, RANKS - 1), min_size=2, unique=True))
    sender, receivers = members[0], members[1:]
    order = sites.relay(sender, receivers, turn)
    assert sorted(order) == sorted(receivers)
    crossed = Counter(line for a, b in pairwise((sender, *order)) for line in sites.way(a, b))
    assert set(crossed.values()) <= {1}
    # What switches would carry is carried, down; besides only ways back up.
    needed = sites.multicast(sender, receivers)
    assert needed <= set(crossed)
    assert all(line.reverse in needed for line in set(crossed) - needed)
    # Ranks of a host follow each other, and those on the sender's come first.
    hosts = [sites.hosts[rank] for rank in (sender, *order)]
    assert len([1 for a, b in pairwise(hosts) if a != b]) == len(set(hosts)) - 1


def test_turns_change_who_is_last() -> None:
    sites = Sites(PODS, tuple(f"h{k}" for k in range(16)))
    lasts = Counter(sites.relay(0, (4, 8, 12), turn)[-1] for turn in range(12))
    assert set(lasts) == {4, 8, 12}
    assert all(sites.relay(0, (1, 4, 12), turn)[0] == 1 for turn in range(12))


def test_ranks_are_found_by_any_of_their_names() -> None:
    names = [("h1",), ("h2.cluster.example",), ("vm", "h3"), ("h1",)]
    assert locate(TWO_SWITCHES, names).hosts == ("h1", "h2", "h3", "h1")
    with pytest.raises(UsageError, match="no host for rank 1 on laptop, rank 2 on h9: it knows h1, h2"):
        locate(TWO_SWITCHES, [("h1",), ("laptop", "node"), ("h9",)])
    with pytest.raises(UsageError, match="h9 not among the 8 hosts"):
        Sites(TWO_SWITCHES, ("h1", "h9"))


def test_without_a_topology_all_hosts_are_neighbours() -> None:
    sites = Sites.on_one_switch(["a", "b", "a"])
    assert len(list(sites.way(0, 1))) == 2
    assert sites.relay(0, (1, 2), 0) == (2, 1)
