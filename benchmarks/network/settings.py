"""What is measured: networks, jobs, and the rivals that take turns on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from coded_mr.plan.offers import Scheme
from coded_mr.plan.planner import Decision, Request, decide
from coded_mr.theory.costs import Costs

__all__ = ["SETTINGS", "Rival", "Setting", "quick"]

# A plan that is asked for by all its numbers does not depend on costs.
_ANY_COSTS = Costs.parse("1,1,1")


@dataclass(frozen=True)
class Rival:
    """Name one way to do the job: a plan, and how its packets travel.

    `loss` is the share of datagrams that every receiver drops. Without a scheme the planner chooses plan and
    transport, among all plans, or those with so many `solvers`.
    """

    scheme: Scheme | None
    r: int
    solvers: int
    helpers: int = 0
    transport: str = "ip"
    one_sender: bool = False
    loss: float = 0.0

    @property
    def name(self) -> str:
        """Return what people call it, which no other rival of a setting is called."""
        if self.scheme is None:
            return "planner's choice" + (f" with {self.solvers} solvers" if self.solvers else "")
        if self.scheme == "uncoded":
            return "uncoded, one sender at a time" if self.one_sender else "uncoded, all to all"
        team = f"{self.solvers}+{self.helpers}" if self.helpers else f"{self.solvers}"
        lost = f", {self.loss:.0%} lost" if self.loss else ""
        return f"{self.scheme} r={self.r} ({team}), {self.transport}{lost}"

    def decision(self) -> Decision:
        """Return the plan that is asked for; raises PlanError when there is none with just these numbers."""
        ranks = self.solvers + self.helpers
        helpers = self.helpers if self.scheme == "solver-helper" else None
        request = Request(self.solvers, ranks, r=self.r, helpers=helpers, scheme=self.scheme)
        decision = decide(request, _ANY_COSTS)
        chosen = decision.chosen
        assert (chosen.scheme, chosen.r, chosen.solvers) == (self.scheme, self.r, self.solvers), str(chosen)
        return decision

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, JSON-ready."""
        return asdict(self)


@dataclass(frozen=True)
class Setting:
    """Name a network, a job and its rivals.

    `rate` of each link, or of the bus, in Mbit/s; `size` of the input in MB (10^6 bytes). Two ranks fit a
    host, so that a helper can share one with a solver.
    """

    network: str
    hosts: int
    job: str
    rate: int
    size: float
    rivals: tuple[Rival, ...]

    @property
    def name(self) -> str:
        """Return the name for `--only`."""
        return f"{self.network}-{self.hosts}-{self.job}"

    @property
    def title(self) -> str:
        """Return what it is, for people; what was measured under another title is another experiment."""
        network = "shared bus of" if self.network == "bus" else "switch with links of"
        return f"{self.job} of {self.size:g} MB, {self.hosts} hosts on a {network} {self.rate} Mbit/s"


def _uncoded(hosts: int) -> Iterator[Rival]:
    yield Rival("uncoded", 1, hosts, transport="unicast")
    yield Rival("uncoded", 1, hosts, transport="unicast", one_sender=True)


def _alone(scheme: Scheme, solvers: int, loads: tuple[int, ...], transport: str = "ip") -> Iterator[Rival]:
    for r in loads:
        yield Rival(scheme, r, solvers, 0, transport)


def _helped(solvers: int, loads: tuple[int, ...], transport: str = "ip") -> Iterator[Rival]:
    """Yield solver-helper plans with as many helpers as map no more than a solver does: Q over r."""
    for r in loads:
        yield Rival("solver-helper", r, solvers, -(-solvers // r) if r < solvers else 0, transport)


def _planned(hosts: int) -> Iterator[Rival]:
    yield Rival(None, 0, hosts)
    yield Rival(None, 0, 0)


def _bus_8() -> Iterator[Rival]:
    """Yield every computation load, all transports, and losses."""
    yield from _uncoded(8)
    yield from _alone("symmetric", 8, (2, 3, 4))
    yield from _alone("resolvable", 8, (4,))
    yield from _helped(8, (1, 2, 3, 4, 5, 6, 7, 8))
    yield from _helped(8, (3,), "groups")
    yield from _helped(8, (3,), "unicast")
    yield replace(next(_helped(8, (3,))), loss=0.2)
    yield from _planned(8)


def _switch_8() -> Iterator[Rival]:
    """Yield what a switch could favour, by all transports."""
    yield from _uncoded(8)
    yield from _alone("replicated", 8, (2, 4), "unicast")
    yield from _alone("symmetric", 8, (2,), "groups")
    yield from _alone("symmetric", 8, (2,))
    yield from _alone("resolvable", 8, (4,), "groups")
    yield from _alone("resolvable", 8, (4,))
    for transport in ("unicast", "groups", "ip"):
        yield from _helped(8, (2, 4), transport)
    yield from _helped(8, (8,))
    yield from _planned(8)


def _words_8() -> Iterator[Rival]:
    yield from _uncoded(8)
    yield from _alone("symmetric", 8, (2, 3))
    yield from _alone("resolvable", 8, (4,))
    yield from _helped(8, (2, 3, 4, 8))
    yield from _planned(8)


def _any_12() -> Iterator[Rival]:
    """Yield rivals for 12 hosts; (8+4) and (9+3) have a host for every helper."""
    yield from _uncoded(12)
    yield from _alone("symmetric", 12, (2,))
    yield from _alone("resolvable", 12, (3, 4, 6))
    yield from _helped(12, (2,))
    yield Rival("solver-helper", 2, 8, 4)
    yield Rival("solver-helper", 3, 9, 3)


def _all() -> Iterator[Setting]:
    yield Setting("bus", 8, "terasort", 24, 64, tuple(_bus_8()))
    yield Setting("switch", 8, "terasort", 20, 16, tuple(_switch_8()))
    for network in ("bus", "switch"):
        yield Setting(network, 8, "wordcount", 10, 8, tuple(_words_8()))
        yield Setting(network, 12, "terasort", 20, 12, tuple(_any_12()))
        yield Setting(network, 12, "wordcount", 10, 8, tuple(_any_12()))


SETTINGS = tuple(_all())


def quick(setting: Setting) -> Setting:
    """Return a setting that takes seconds: a small input on a fast network, a rival of each kind."""
    kinds = {
        (rival.scheme or rival.solvers, rival.transport, rival.one_sender, rival.loss): rival
        for rival in reversed(setting.rivals)
    }
    kept = tuple(rival for rival in setting.rivals if rival in kinds.values())
    return replace(setting, rate=100, size=1, rivals=kept)
