"""A probe of the network: what multicasts to 1, 2, ... receivers cost on a real transport."""

from __future__ import annotations

from collections.abc import Mapping

from coded_mr.engine.profile import Network
from coded_mr.engine.trial import Trials

__all__ = ["probe_network"]

_SMALL, _MEDIUM, _LARGE, _LARGEST = 1 << 10, 4 << 10, 64 << 10, 4 << 20
_SLOW = 0.005  # seconds that medium packets take on a network on which large ones would take too long
_MANY = 8  # packets of a rank, to tell what each costs from what a shuffle costs


def probe_network(trials: Trials, partitions: int, budget: float) -> Network:
    """Measure multicasts to 1, 2, ... receivers with all ranks sending; collective.

    A shuffle takes F seconds, each of its packets p, each of their bytes b(j): few small packets, many small
    ones and large ones tell them apart. More receivers are measured while the budget (seconds) lasts, each
    with packets as large as its part of the budget allows; one rank sends alone to one and to the most.
    """
    most = min(trials.world.size - 1, partitions)
    if not most:
        return Network({}, {}, 0.0, 0.0, 0.0)
    few = trials.run(most, _SMALL)
    many = trials.run(most, _SMALL, each=_MANY)
    packet_seconds = max(many.seconds - few.seconds, 0.0) / (many.packets - few.packets)
    fixed = max(few.seconds - few.packets * packet_seconds, 0.0)
    together: dict[int, float] = {}
    alone: dict[int, float] = {}
    cases = _cases(most)
    spent = 0.0
    for done, (receivers, by_itself) in enumerate(cases):
        # One receiver tells nothing of many: both ends of the range are measured on the slowest network.
        if receivers not in (1, most) and spent > budget:
            break
        share = max(budget - spent, 0.0) / (len(cases) - done)
        found = alone if by_itself else together
        found[receivers], took = _byte_seconds(trials, receivers, by_itself, share, fixed, packet_seconds)
        spent += took
    return Network(
        _undisturbed(together),
        _undisturbed(alone),
        packet_seconds,
        many.group_seconds / max(many.groups, 1),
        fixed,
    )


def _undisturbed(per_byte: Mapping[int, float]) -> dict[int, float]:
    """Return the costs such that more receivers never cost less: what disturbs a probe makes it slower."""
    return {j: min(cost for more, cost in per_byte.items() if more >= j) for j in sorted(per_byte)}


def _byte_seconds(
    trials: Trials, receivers: int, alone: bool, budget: float, fixed: float, packet_seconds: float
) -> tuple[float, float]:
    """Return the seconds for a byte to so many receivers, and how long it took to find out."""
    size = _MEDIUM
    found = trials.run(receivers, size, alone=alone)
    spent = found.seconds
    beside = fixed + found.packets * packet_seconds
    if found.seconds - beside < _SLOW:
        size = _LARGE
        found = trials.run(receivers, size, alone=alone)
        spent += found.seconds
        while size < _LARGEST and 4 * found.seconds < budget - spent:
            size *= 4
            found = trials.run(receivers, size, alone=alone)
            spent += found.seconds
    # The better of two, for the same reason.
    again = trials.run(receivers, size, alone=alone)
    whole = min(found.seconds, again.seconds)
    # A transfer too short to stand out from what comes with it is at least a part of the whole.
    moving = max(whole - beside, whole / 4)
    return moving / (found.packets * size), spent + again.seconds


def _cases(most: int) -> list[tuple[int, bool]]:
    """Return (receivers, whether one rank sends alone) in the order in which they matter."""
    between = [(j, False) for j in (3, 2, 4, 6, 8, 12, 16, 24, 32) if j < most]
    return list(dict.fromkeys([(1, False), (most, False), (1, True), (most, True), *between]))
