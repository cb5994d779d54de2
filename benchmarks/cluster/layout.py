"""Networks as data: nodes, the cables between them, and the `ip` and `tc` commands that make them work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from benchmarks.cluster.needs import ClusterError

__all__ = ["BUS", "MODES", "Cable", "Layout", "fat_tree", "star"]

MODES = ("switch", "bus", "none")
BUS = "ifb0"
"""The device through which all frames of a shared bus pass."""

_MOST_HOSTS = 250
_HEAD_PORT = "head"

# Two commands: within one, the kernel starts the querier before it takes the intervals (here a second).
_QUERIER = (
    "link set br0 type bridge mcast_query_response_interval 100 mcast_startup_query_interval 100",
    "link set br0 type bridge mcast_querier 1",
)


@dataclass(frozen=True)
class Cable:
    """Join interface `a_port` of node `a` to `b_port` of `b`; `limited`: at the rate, each way."""

    a: str
    a_port: str
    b: str
    b_port: str
    limited: bool

    @property
    def ends(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """Return both (node, interface)."""
        return (self.a, self.a_port), (self.b, self.b_port)


@dataclass(frozen=True)
class Layout:
    """Describe a network.

    addresses  IPv4 address of every host, the head last.
    switches   nodes that are no hosts.
    cables     what joins them; every host has one, at its eth0.
    setup      lines for `ip -batch` in a node, once the cables are there.
    shaping    lines for `tc -batch`, besides those that limit cables.
    bus        the node whose device BUS all frames pass, if there is one.
    """

    addresses: Mapping[str, str]
    switches: tuple[str, ...]
    cables: tuple[Cable, ...]
    setup: Mapping[str, tuple[str, ...]]
    shaping: Mapping[str, tuple[str, ...]]
    bus: str | None = None


def star(hosts: int, mode: str, *, snooping: bool = False) -> Layout:
    """Lay out hosts h1..hN on one Ethernet switch, with a head whose link has no limit.

    `mode` "switch": every host's link has the rate in each direction. "bus": all frames of all hosts share
    one link of the rate, each frame charged once however many hosts it reaches. "none": no limit.
    `snooping`: a multicast comes down to members of its group only, from a second after the start, not to
    all hosts.
    Raises ClusterError for other modes, and unless 1 <= hosts <= 250.
    """
    if mode not in MODES:
        raise ClusterError(f"mode {mode!r} is none of {', '.join(MODES)}")
    if not 1 <= hosts <= _MOST_HOSTS:
        raise ClusterError(f"{hosts} hosts do not fit one switch: 1..{_MOST_HOSTS}")
    switch = "switch"
    addresses = {f"h{i}": f"10.77.0.{i}" for i in range(1, hosts + 1)} | {"head": "10.77.0.254"}
    ports = {name: _HEAD_PORT if name == "head" else f"p{name[1:]}" for name in addresses}
    setup = {
        name: ("link set eth0 up", f"addr add {address}/24 dev eth0", "route add 224.0.0.0/4 dev eth0")
        for name, address in addresses.items()
    }
    setup[switch] = (
        f"link add br0 type bridge forward_delay 0 stp_state 0 mcast_snooping {int(snooping)}",
        *(_QUERIER if snooping else ()),
        "link set br0 up",
        *(f"link set {port} master br0 up" for port in ports.values()),
        *((f"link add {BUS} txqueuelen 1000 type ifb", f"link set {BUS} up") if mode == "bus" else ()),
    )
    through_bus = [
        line
        for port in ports.values()
        if port != _HEAD_PORT
        for line in (
            f"qdisc add dev {port} handle ffff: ingress",
            f"filter add dev {port} parent ffff: protocol all u32 match u32 0 0 "
            f"action mirred egress redirect dev {BUS}",
        )
    ]
    return Layout(
        addresses=addresses,
        switches=(switch,),
        cables=tuple(
            Cable(name, "eth0", switch, port, mode == "switch" and name != "head")
            for name, port in ports.items()
        ),
        setup=setup,
        shaping={switch: tuple(through_bus)} if mode == "bus" else {},
        bus=switch if mode == "bus" else None,
    )


def fat_tree(t: int) -> Layout:
    """Lay out a t-ary fat tree: t^3/4 hosts and 5t^2/4 routers, every link but the head's limited.

    Hosts are h0, h1, ... from the left, in pod p under edge switch e<p>-<i>; the routers above are a<p>-<j>
    and the cores c0, c1, .... A connection goes up by the way that a hash of its addresses and ports picks.
    Raises ClusterError unless t is even, 2..14.
    """
    if t % 2 or not 2 <= t <= 14:
        raise ClusterError(f"no fat tree of arity {t} is emulated: it must be even, 2..14")
    return _Tree(t).layout()


class _Tree:
    """Collects the commands of a fat tree."""

    def __init__(self, t: int) -> None:
        self._t, self._half = t, t // 2
        self._cables: list[Cable] = []
        self._setup: dict[str, list[str]] = {}
        self._addresses: dict[str, str] = {}
        self._subnets = 0

    def layout(self) -> Layout:
        h = self._half
        for pod, edge, slot in product(range(self._t), range(h), range(h)):
            self._host(pod, edge, slot)
        for pod in range(self._t):
            for edge in range(h):
                ups = [
                    self._cable_up(f"e{pod}-{edge}", f"a{pod}-{j}", f"10.{pod}.{edge}.0/24") for j in range(h)
                ]
                self._default(f"e{pod}-{edge}", ups)
            for j in range(h):
                ups = [self._cable_up(f"a{pod}-{j}", f"c{j * h + d}", f"10.{pod}.0.0/16") for d in range(h)]
                self._default(f"a{pod}-{j}", ups)
        self._head()
        switches = tuple(node for node in self._setup if node not in self._addresses)
        setup = {node: tuple(lines) for node, lines in self._setup.items()}
        return Layout(self._addresses, switches, tuple(self._cables), setup, {})

    def _host(self, pod: int, edge: int, slot: int) -> None:
        """Join a host to its edge switch, by a subnet of their own in the switch's."""
        name, switch = f"h{(pod * self._half + edge) * self._half + slot}", f"e{pod}-{edge}"
        above, address = (f"10.{pod}.{edge}.{2 * slot + end}" for end in (0, 1))
        self._addresses[name] = address
        self._cables.append(Cable(name, "eth0", switch, f"p{slot}", limited=True))
        self._setup[name] = [
            "link set eth0 up",
            f"addr add {address}/31 dev eth0",
            f"route add default via {above}",
            "route add 224.0.0.0/4 dev eth0",
        ]
        self._setup.setdefault(switch, []).extend(
            [f"link set p{slot} up", f"addr add {above}/31 dev p{slot}"]
        )

    def _cable_up(self, below: str, above: str, network: str) -> str:
        """Join two routers by a subnet of their own; return the address above."""
        at, self._subnets = self._subnets, self._subnets + 1
        pair = [f"10.200.{at >> 7}.{(at & 127) * 2 + end}" for end in (0, 1)]
        ports = [f"up-{above}", f"dn-{below}"]
        self._cables.append(Cable(below, ports[0], above, ports[1], limited=True))
        for node, port, address in zip((below, above), ports, pair, strict=True):
            self._setup.setdefault(node, []).extend(
                [f"link set {port} up", f"addr add {address}/31 dev {port}"]
            )
        self._setup[above].append(f"route add {network} via {pair[0]}")
        return pair[1]

    def _default(self, node: str, ups: list[str]) -> None:
        """Spread what goes up over all ways up; only the first leads to the head."""
        self._setup[node].append("route add default " + " ".join(f"nexthop via {up}" for up in ups))
        self._setup[node].append(f"route add 10.254.0.0/24 via {ups[0]}")

    def _head(self) -> None:
        self._addresses["head"] = "10.254.0.2"
        self._cables.append(Cable("head", "eth0", "c0", _HEAD_PORT, limited=False))
        self._setup["head"] = [
            "link set eth0 up",
            "addr add 10.254.0.2/24 dev eth0",
            "route add default via 10.254.0.1",
        ]
        self._setup["c0"] += [f"link set {_HEAD_PORT} up", f"addr add 10.254.0.1/24 dev {_HEAD_PORT}"]
