"""Loads of symmetric schemes against known answers, against counting, and against a shuffle that is run."""

# A Fraction may equal an int, which mypy takes for a comparison that is never true.
# mypy: disable-error-code="comparison-overlap"

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product
from math import comb
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import UsageError
from coded_mr.theory.converse import placement_bound
from coded_mr.theory.tradeoff import cascaded_levels, cascaded_load, cdc_load, resolvable, uncoded_load

Golden = Callable[[str], Any]
designs = [(2, 2), (2, 5), (3, 2), (3, 3), (4, 2), (4, 3), (5, 2), (3, 1)]


def cascaded_by_levels(K: int, r: int, s: int) -> Fraction:
    """Return L*(r, s) as the published sum over group sizes."""
    sizes = range(max(r + 1, s), min(r + s, K) + 1)
    sent = sum(n * comb(K, n) * comb(n - 2, r - 1) * comb(r, n - s) for n in sizes)
    return Fraction(sent, r * comb(K, r) * comb(K, s))


def test_loads_meet_every_known_answer(golden: Golden) -> None:
    rows = golden("cdc")["L"]
    assert len(rows) > 200
    for row in rows:
        K, r, s = row["K"], row["r"], row["s"]
        assert cascaded_load(K, r, s) == Fraction(row["L"]) == cascaded_by_levels(K, r, s), row
        assert s != 1 or cdc_load(K, r) == Fraction(row["L"]), row
    for row in golden("cdc")["placements"]:
        assert cdc_load(row["K"], row["r"]) == Fraction(row["load"])


def test_levels_meet_every_known_answer(golden: Golden) -> None:
    for row in golden("cdc")["cascaded_counts"]:
        found = [
            {
                "l": level.size,
                "subsets": level.groups,
                "messages_per_sender": level.messages,
                "segments_held_per_sender": level.held,
                "value_block": level.block,
            }
            for level in cascaded_levels(row["K"], row["r"], row["s"])
        ]
        assert found == row["groups"], row


@given(st.integers(1, 30), st.data())
def test_both_forms_and_the_levels_are_one_load(K: int, data: st.DataObject) -> None:
    r, s = data.draw(st.integers(1, K)), data.draw(st.integers(1, K))
    levels = cascaded_levels(K, r, s)
    sent = sum(level.size * level.groups * level.messages * level.block for level in levels)
    load = cascaded_load(K, r, s)
    assert load == cascaded_by_levels(K, r, s) == Fraction(sent, r * comb(K, r) * comb(K, s))
    # What a member sends and holds is enough for the segments that each other member lacks.
    assert all(level.messages == level.held - comb(level.size - 2, r - 2) for level in levels if r > 1)
    assert load <= s * uncoded_load(K, r)
    assert cascaded_load(K, r, 1) == cdc_load(K, r) == uncoded_load(K, r) / r
    assert cascaded_load(K, K, s) == 0
    assert cascaded_levels(K, K, s) == ()


@given(st.integers(1, 12), st.data())
def test_fractional_loads_lie_on_the_lower_convex_envelope(K: int, data: st.DataObject) -> None:
    r = data.draw(st.fractions(1, K, max_denominator=40))
    chords = [
        cdc_load(K, a) + (r - a) * (cdc_load(K, b) - cdc_load(K, a)) / (b - a)
        for a, b in combinations(range(1, K + 1), 2)
        if a <= r <= b
    ]
    assert cdc_load(K, r) == min(chords, default=Fraction(0))


def shuffle(k: int, q: int) -> tuple[int, int, Fraction, list[tuple[set[int], Fraction]]]:
    """Run a resolvable design on random values with real XORs, one function a server.

    Return groups, packets, load and placement; fail unless every server ends with exactly its values.
    """
    servers = list(product(range(k), range(q)))
    words = [word for word in product(range(q), repeat=k) if sum(word) % q == 0]
    mappers = {word: set(enumerate(word)) for word in words}
    pieces, noise = k - 1, Random(k * q)
    value = {
        (server, word): [noise.getrandbits(32) for _ in range(pieces)] for server in servers for word in words
    }
    received: dict[tuple[tuple[int, int], tuple[int, ...]], dict[int, int]] = {}
    groups = packets = 0
    for other in product(range(q), repeat=k):
        if sum(other) % q == 0:
            continue
        group = list(enumerate(other))
        groups += 1
        shared = {
            member: next(word for word in words if set(group) - {member} <= mappers[word]) for member in group
        }
        for sender in group:
            packets += 1
            # Member `to` is missing its word; the segments go to the others of the group, in their order.
            terms = {to: [m for m in group if m != to].index(sender) for to in group if to != sender}
            assert all(sender in mappers[shared[to]] for to in terms)
            packet = 0
            for to, piece in terms.items():
                packet ^= value[to, shared[to]][piece]
            for to, piece in terms.items():
                got = packet
                for known, at in terms.items():
                    if known != to:
                        assert to in mappers[shared[known]]
                        got ^= value[known, shared[known]][at]
                assert piece not in received.setdefault((to, shared[to]), {})
                received[to, shared[to]][piece] = got
    lacking = {(server, word) for server in servers for word in words if server not in mappers[word]}
    assert set(received) == lacking
    for wanted, segments in received.items():
        assert [segments[piece] for piece in range(pieces)] == value[wanted]
    index = {server: number for number, server in enumerate(servers)}
    batches = [({index[server] for server in mappers[word]}, Fraction(1)) for word in words]
    return groups, packets, Fraction(packets, pieces * len(servers) * len(words)), batches


@pytest.mark.parametrize(("k", "q"), designs)
def test_resolvable_designs_deliver_everything_in_one_stage(k: int, q: int) -> None:
    groups, packets, load, batches = shuffle(k, q)
    design = resolvable(k * q, k)
    assert (design.k, design.q, design.servers, design.batches) == (k, q, k * q, len(batches))
    assert (design.groups, design.packets, design.load) == (groups, packets, load)
    # The price of few batches: r/(r-1) times what symmetric CDC, and the bound for the placement, need.
    bound = placement_bound(batches, [{server} for server in range(k * q)])
    assert bound == cdc_load(k * q, k) == load * Fraction(k - 1, k)
    assert load == uncoded_load(k * q, k) / (k - 1)


def test_resolvable_designs_take_far_fewer_packets() -> None:
    design = resolvable(100, 4)
    assert design.packets == 1_500_000
    assert 200 * design.packets < 5 * comb(100, 5)


@pytest.mark.parametrize("r", [0, 5, Fraction(1, 2), 1.5])
def test_degrees_outside_one_to_k_are_refused(r: Any) -> None:
    for load in (cdc_load, uncoded_load):
        with pytest.raises(UsageError, match="computation load r"):
            load(4, r)


@pytest.mark.parametrize(("K", "r", "s"), [(4, 0, 1), (4, 5, 1), (4, 1, 0), (4, 1, 5)])
def test_cascades_that_cannot_be_are_refused(K: int, r: int, s: int) -> None:
    for function in (cascaded_load, cascaded_levels):
        with pytest.raises(UsageError, match="no cascaded scheme"):
            function(K, r, s)


@pytest.mark.parametrize(("K", "r"), [(6, 1), (6, 4), (6, 7), (0, 2)])
def test_designs_that_cannot_be_are_refused(K: int, r: int) -> None:
    with pytest.raises(UsageError, match="no resolvable design"):
        resolvable(K, r)
