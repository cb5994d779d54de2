"""Networks as Slurm describes them: topology.conf, what `scontrol show topology` prints, nodes' addresses.

    # two edge switches below a core
    SwitchName=s1 Nodes=h[1-4]
    SwitchName=s2 Nodes=h[5-8]
    SwitchName=core Switches=s[1-2]

Keys are read in any case, LinkSpeed= and Level= are passed over. A switch may repeat the nodes below those
that it names, as scontrol does. Where several switches have none above them, they are taken as joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from coded_mr.errors import InputError, UsageError
from coded_mr.topology.hostlist import expand
from coded_mr.topology.switches import TOP, SwitchTree, climb

__all__ = ["parse", "read_file", "text_of", "tree_of_addresses"]

_PASSED_OVER = ("linkspeed", "level")


class _Switch(NamedTuple):
    line: int
    nodes: tuple[str, ...]
    switches: tuple[str, ...]


def read_file(path: str) -> SwitchTree:
    """Return the network that a file describes. Raises InputError when it cannot be read, else as `parse`."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise InputError(f"cannot read the topology {path}: {reason}") from error
    return parse(text, path)


def parse(text: str, source: str) -> SwitchTree:
    """Return the network that a text describes; `source` is where it comes from, for messages.

    Raises UsageError with the line of what is wrong: words that are none of the format, a switch described
    twice or nowhere, a host or switch below two switches, a circle.
    """
    try:
        switches = _switches(text)
        above = _joined(switches, _parents(switches))
        return SwitchTree(tuple(name for name in above if name not in switches), above)
    except UsageError as error:
        raise UsageError(f"the topology {source}: {error}") from error


def text_of(tree: SwitchTree) -> str:
    """Return the lines that `parse` makes the tree of, a switch each."""
    lines = []
    hosts = set(tree.hosts)
    for switch, below in tree.below.items():
        nodes = [name for name in below if name in hosts]
        lower = [name for name in below if name not in hosts]
        if switch == TOP and not nodes:
            continue
        words = [f"SwitchName={switch}"]
        words += [f"Nodes={','.join(nodes)}"] if nodes else []
        words += [f"Switches={','.join(lower)}"] if lower else []
        lines.append(" ".join(words))
    described = tree.below.keys()
    lines += [f"SwitchName={name}" for name in tree.above if name not in hosts and name not in described]
    return "".join(f"{line}\n" for line in lines)


def tree_of_addresses(addresses: Mapping[str, str]) -> SwitchTree:
    """Return the network that the SLURM_TOPOLOGY_ADDR of some hosts show, such as s0.s1.h4.

    Raises UsageError unless each is the names of the switches above a host, from the top, then its own.
    """
    above: dict[str, str] = {}
    switches: dict[str, None] = {}
    for host, address in addresses.items():
        *way, name = address.split(".")
        if name != host or not way or not all(way):
            raise UsageError(
                f"SLURM_TOPOLOGY_ADDR={address!r} on host {host} is not switches and then its name: "
                "launch the ranks with srun, which sets it on every node, or give a topology file"
            )
        switches.update(dict.fromkeys(way))
        for upper, lower in pairwise([*way, host]):
            if above.setdefault(lower, upper) != upper:
                raise UsageError(f"SLURM_TOPOLOGY_ADDR: {_twice(lower, above[lower], upper)}")
    return SwitchTree(tuple(addresses), _joined(switches, above))


def _switches(text: str) -> dict[str, _Switch]:
    """Read the lines: what each switch names below it."""
    found: dict[str, _Switch] = {}
    for number, line in _lines(text):
        words: dict[str, str] = {}
        for word in line.split():
            key, equals, value = word.partition("=")
            if not equals or key.lower() in words:
                raise UsageError(f"line {number}: {word!r} is no KEY=VALUE, or given twice; {_REMEDY}")
            words[key.lower()] = value
        unknown = words.keys() - {"switchname", "nodes", "switches", *_PASSED_OVER}
        if "switchname" not in words or unknown:
            raise UsageError(f"line {number}: {' '.join(sorted(unknown)) or line!r} is not known; {_REMEDY}")
        try:
            name, *more = expand(words["switchname"])
            nodes, switches = (expand(words[key]) if words.get(key) else () for key in ("nodes", "switches"))
        except UsageError as error:
            raise UsageError(f"line {number}: {error}") from error
        if more or name in found:
            raise UsageError(
                f"line {number}: describe one switch a line, each once, not {words['switchname']}"
            )
        found[name] = _Switch(number, nodes, switches)
    if not found:
        raise UsageError(f"it names no switch; {_REMEDY}")
    return found


_REMEDY = "write lines such as `SwitchName=s1 Nodes=h[1-4]` and `SwitchName=core Switches=s[1-2]`"


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield numbered lines without comments, those that end with a backslash joined to the next."""
    held, began = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.partition("#")[0].rstrip()
        began = began or number
        if line.endswith("\\"):
            held += line[:-1] + " "
            continue
        if (held + line).strip():
            yield began, held + line
        held, began = "", 0
    if held.strip():
        yield began, held


def _parents(switches: Mapping[str, _Switch]) -> dict[str, str]:
    """Return the switch directly above each switch and host that is named below one."""
    above: dict[str, str] = {}
    for name, switch in switches.items():
        for child in switch.switches:
            if child not in switches:
                raise UsageError(f"line {switch.line}: there is no switch {child}: describe it in a line")
            if above.setdefault(child, name) != name:
                raise UsageError(f"line {switch.line}: {_twice(child, above[child], name)}")
    ways = {name: climb(above, name) for name in switches}
    hosts: dict[str, str] = {}
    for name, switch in switches.items():
        for node in switch.nodes:
            known = hosts.setdefault(node, name)
            if name not in ways[known]:
                if known not in ways[name]:
                    raise UsageError(f"line {switch.line}: {_twice(node, known, name)}")
                hosts[node] = name  # the lower of two, one above the other
    both = hosts.keys() & switches.keys()
    if both:
        raise UsageError(f"{min(both)} is both a host and a switch: give one of them another name")
    return {**hosts, **above}


def _twice(name: str, known: str, other: str) -> str:
    return f"{name} is below {known} already, it cannot be below {other} too"


def _joined(switches: Iterable[str], above: Mapping[str, str]) -> dict[str, str]:
    """Return what is above everything, with one top."""
    tops = [name for name in switches if name not in above]
    return {**above, **(dict.fromkeys(tops, TOP) if len(tops) > 1 else {})}
