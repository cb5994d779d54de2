"""The schemes against the placements of the theory reference, and their loads against the formulas."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import PlanError
from coded_mr.plan import Plan, verify
from coded_mr.plan.schedule import bundles, disjoint_rounds
from coded_mr.plan.schemes import solver_helper, uncoded
from coded_mr.theory.constrained import helper_load
from coded_mr.theory.load import communication_load


def test_solver_helper_has_the_batches_and_messages_of_the_paper(golden):
    for row in golden("plans")["placements"]:
        plan = solver_helper(row["Q"], row["Q"], row["r"], row["H"])
        expected = [tuple(k - 1 for k in (*b["A"], b["helper"])) for b in row["batches"]]
        assert [batch.mappers for batch in plan.batches] == expected
        per_batch = row["N"] // len(expected)
        assert [b["files"] for b in row["batches"]] == [
            list(range(n * per_batch + 1, (n + 1) * per_batch + 1)) for n in range(len(expected))
        ]
        sent = {
            (packet.sender + 1, frozenset((term.partitions[0] + 1, term.batch) for term in packet.terms))
            for packet in plan.packets
        }
        due = {
            (
                message["helper"],
                frozenset((term["reduce"], (term["files"][0] - 1) // per_batch) for term in message["terms"]),
            )
            for message in row["messages"]
        }
        assert sent == due


def test_bundle_loads_are_those_of_the_reference(golden):
    for row in golden("plans")["uneven_loads"]:
        assert helper_load(row["Q"], row["S"], row["r"]) == Fraction(row["L_helper"]), row


@given(st.integers(1, 7), st.data())
def test_solver_helper_is_decodable_and_meets_its_load_exactly(partitions, data):
    solvers = data.draw(st.integers(1, partitions))
    r = data.draw(st.integers(0, solvers))
    helpers = 0 if r == solvers else data.draw(st.integers(1, 4))
    found = verify(solver_helper(partitions, solvers, r, helpers))
    assert found.load == helper_load(partitions, solvers, r)
    assert found.computation_load == r
    assert found.peak == max(Fraction(r, solvers), Fraction(1, helpers) if helpers else 0)
    assert found.most_partitions == -(-partitions // solvers)
    if solvers == partitions:
        assert found.load == communication_load(partitions, r)


@given(st.integers(1, 7), st.integers(0, 4), st.data())
def test_uncoded_load_is_one_less_a_share(partitions, helpers, data):
    solvers = data.draw(st.integers(1, partitions))
    plan = uncoded(partitions, solvers, helpers)
    found = verify(plan)
    assert found.load == 1 - Fraction(1, solvers + helpers)
    assert found.peak == Fraction(1, solvers + helpers)
    assert all(len(packet.terms) == 1 for packet in plan.packets)


@pytest.mark.parametrize(
    "numbers",
    [(3, 4, 1, 1), (3, 0, 0, 1), (3, 3, 4, 1), (3, 3, -1, 1), (3, 3, 3, 1), (3, 3, 2, 0), (0, 0, 0, 0)],
)
def test_impossible_numbers_are_refused(numbers):
    with pytest.raises(PlanError):
        solver_helper(*numbers)


@pytest.mark.parametrize("numbers", [(3, 4, 0), (3, 0, 2), (0, 0, 0), (3, 3, -1)])
def test_impossible_uncoded_numbers_are_refused(numbers):
    with pytest.raises(PlanError):
        uncoded(*numbers)


@pytest.mark.parametrize(("ranks", "size"), [(4, 2), (8, 3), (9, 3), (6, 6), (5, 1), (12, 4)])
def test_rounds_hold_each_subset_once_and_are_disjoint_within(ranks, size):
    rounds = disjoint_rounds(combinations(range(ranks), size), ranks)
    flat = [subset for together in rounds for subset in together]
    assert sorted(flat) == list(combinations(range(ranks), size))
    for together in rounds:
        assert sum(map(len, together)) == len(set().union(*together))
    # The fewest rounds possible are C(ranks, size) over the subsets that fit one.
    assert len(rounds) <= 2 * comb(ranks, size) / (ranks // size)


@given(st.integers(1, 40), st.integers(1, 40))
def test_bundles_are_even_and_complete(partitions, solvers):
    dealt = bundles(partitions, solvers)
    assert [q for owned in dealt for q in owned] == list(range(partitions))
    assert max(map(len, dealt)) - min(map(len, dealt)) <= 1


def test_a_group_rests_while_the_other_helpers_of_a_block_send_elsewhere():
    helpers = 3
    packets = solver_helper(9, 9, 2, helpers).packets
    uses: dict[tuple[int, ...], list[int]] = {}
    for number, packet in enumerate(packets):
        uses.setdefault(packet.receivers, []).append(number)
    assert all(len({packets[n].sender for n in numbers}) == helpers for numbers in uses.values())
    assert all(b - a >= helpers for numbers in uses.values() for a, b in pairwise(numbers))
    assert {packet.sender for packet in packets[:9]} == {9, 10, 11}


def test_groups_first_appear_in_rounds_of_disjoint_subsets():
    plan = solver_helper(8, 8, 2, 4)
    rounds = disjoint_rounds(combinations(range(8), 3), 8)
    assert list(plan.groups) == [subset for together in rounds for subset in together]


@given(st.integers(1, 5), st.data())
def test_json_gives_back_the_same_plan(partitions, data):
    r = data.draw(st.integers(0, partitions))
    plan = solver_helper(partitions, partitions, r, 0 if r == partitions else 2)
    assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": "coded-mr-plan/1"}', '{"format": "coded-mr-plan/2"}']
)
def test_what_is_no_plan_is_refused(text):
    with pytest.raises(PlanError, match="coded-mr"):
        Plan.from_json(text)
