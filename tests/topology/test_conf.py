"""Descriptions of networks: known ones are read as meant, wrong ones refused with the line that is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import InputError, UsageError
from coded_mr.topology import TOP, SwitchTree, one_switch, parse, read_file, text_of, tree_of_addresses
from tests.topology.networks import trees

Golden = Callable[[str], Any]


def test_known_descriptions_are_read_as_meant(golden: Golden, tmp_path: Path) -> None:
    for name, case in golden("topology").items():
        path = tmp_path / "network"
        path.write_text(case["text"])
        tree = read_file(str(path))
        assert sorted(tree.hosts) == case["hosts"], name
        for host, climb in case["climbs"].items():
            assert tree.climb(host) == tuple(climb), name


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "names no switch"),
        ("# nothing\n", "names no switch"),
        ("No topology information available\n", "line 1: 'No' is no KEY=VALUE"),
        ("BlockName=b1 Nodes=h[1-4]\n", "line 1: 'blockname' is not known"),
        ("SwitchName=a Nodes=h1\nNodes=h2\n", "line 2: 'Nodes=h2' is not known"),
        ("SwitchName=a Nodes=h1 Nodes=h2\n", "given twice"),
        ("\nSwitchName=a Nodes=h[1\n", "line 2: .* no list of names"),
        ("SwitchName=a[1-2] Nodes=h1\n", "one switch a line"),
        ("SwitchName=a Nodes=h1\nSwitchName=a Nodes=h2\n", "line 2: describe one switch a line, each once"),
        ("SwitchName=a Nodes=h1\nSwitchName=b Nodes=h[1-2]\n", "line 2: h1 is below a already"),
        ("SwitchName=c Switches=a\nSwitchName=d Switches=a\nSwitchName=a Nodes=h1\n", "line 2: a is below c"),
        ("SwitchName=c Switches=a,b\nSwitchName=a Nodes=h1\n", "line 1: there is no switch b"),
        (
            "SwitchName=a Switches=b\nSwitchName=b Switches=c\nSwitchName=c Switches=a\n",
            "circle: a below c below b",
        ),
        ("SwitchName=a Switches=a Nodes=h1\n", "circle: a below a"),
        ("SwitchName=a\n", "without hosts"),
        ("SwitchName=a Nodes=a\n", "both a host and a switch"),
    ],
)
def test_what_is_wrong_is_named(text: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=f"the topology net.conf: .*{complaint}"):
        parse(text, "net.conf")


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: No such file"):
        read_file(str(tmp_path / "nowhere"))
    (tmp_path / "noise").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="noise: not UTF-8"):
        read_file(str(tmp_path / "noise"))


@given(trees(), st.randoms(use_true_random=False))
def test_a_tree_that_is_written_is_read_again(tree: SwitchTree, random: Random) -> None:
    lines = text_of(tree).splitlines(keepends=True)
    random.shuffle(lines)
    found = parse("".join(lines), "it")
    assert dict(found.above) == dict(tree.above)
    assert set(found.hosts) == set(tree.hosts)


@given(trees())
def test_a_switch_may_repeat_the_hosts_below_others(tree: SwitchTree) -> None:
    switches = dict.fromkeys([*tree.above.values(), *(name for name in tree.above if name not in tree.hosts)])
    lines = []
    for switch in switches:
        lower = [name for name in tree.below.get(switch, ()) if name not in tree.hosts]
        words = [f"SwitchName={switch}", f"Nodes={','.join(tree.hosts_below(switch))}", "LinkSpeed=1"]
        lines.append(" ".join([*words, f"Switches={','.join(lower)}"]))
    assert dict(parse("\n".join(lines), "it").above) == dict(tree.above)


@given(trees())
def test_addresses_tell_the_tree_above_the_hosts(tree: SwitchTree) -> None:
    found = tree_of_addresses({host: ".".join(reversed(tree.climb(host))) for host in tree.hosts})
    assert all(found.climb(host) == tree.climb(host) for host in tree.hosts)


@pytest.mark.parametrize(
    ("addresses", "complaint"),
    [
        ({"h1": "s0.s1.h1", "h2": "s0.s1.h1"}, "host h2 is not switches and then its name"),
        ({"h1": "h1"}, "is not switches"),
        ({"h1": "s0..h1"}, "is not switches"),
        ({"h1": "s0.s1.h1", "h2": "s2.s1.h2"}, "s1 is below s0 already"),
    ],
)
def test_addresses_that_make_no_tree_are_refused(addresses: dict[str, str], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        tree_of_addresses(addresses)


def test_switches_with_nothing_above_are_joined_in_addresses_too() -> None:
    assert tree_of_addresses({"h1": "a.h1", "h2": "b.h2"}).climb("h2") == ("h2", "b", TOP)


def test_what_is_no_tree_is_refused() -> None:
    for hosts, above, complaint in (
        ((), {}, "without hosts"),
        (("h",), {}, "at no switch"),
        (("h", "g"), {"h": "s", "g": "h"}, "both a host and a switch"),
        (("h", "g"), {"h": "a", "g": "b"}, "all at the top"),
        (("h",), {"h": "a", "a": "b", "b": "a"}, "circle"),
    ):
        with pytest.raises(UsageError, match=complaint):
            SwitchTree(hosts, above)
    assert one_switch(["h", "g", "h"]).hosts == ("h", "g")
