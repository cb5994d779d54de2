"""Repair of what different receivers lost, by XOR: coded multicast once more.

Two receivers that lost different pieces of a payload, and have each other's, are both served by the XOR of
the two. What may be joined is a colouring: two pieces conflict when one receiver lacks both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

__all__ = ["combinations"]


def combinations(missing: Sequence[Collection[int]], most: int) -> list[tuple[int, ...]]:
    """Return sets of pieces to XOR, given what each receiver lacks; at most `most` (>= 1) pieces in a set.

    Every piece that somebody lacks is in exactly one set, and no receiver lacks two pieces of a set: from a
    set with one that it lacks, it solves for that. There are at least as many sets as the unluckiest receiver
    lacks pieces, and exactly as many when no piece is lacked twice and there are at most `most` receivers.
    """
    lackers: dict[int, list[int]] = {}
    for receiver, pieces in enumerate(missing):
        for piece in pieces:
            lackers.setdefault(piece, []).append(receiver)
    need = Counter(lost for receivers in lackers.values() for lost in receivers)
    found: list[list[int]] = []
    served: list[set[int]] = []
    open_from = 0
    # What many lack is hardest to place; then what the unluckiest receivers lack.
    order = sorted(lackers, key=lambda n: (-len(lackers[n]), -max(need[r] for r in lackers[n]), n))
    for piece in order:
        receivers = lackers[piece]
        for index in range(open_from, len(found)):
            if len(found[index]) < most and served[index].isdisjoint(receivers):
                break
        else:
            index = len(found)
            found.append([])
            served.append(set())
        found[index].append(piece)
        served[index].update(receivers)
        while open_from < len(found) and len(served[open_from]) == len(missing):
            open_from += 1
    return [tuple(pieces) for pieces in found]
