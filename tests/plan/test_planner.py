"""The planner: Theorem 1 where the ranks suffice, the best feasible plan elsewhere."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import PlanError, UsageError
from coded_mr.plan import verify
from coded_mr.plan.machine import Machine
from coded_mr.plan.offers import MAX_PACKETS
from coded_mr.plan.planner import Request, decide, wanted_ranks
from coded_mr.theory.allocation import parallel, sequential
from coded_mr.theory.costs import Costs

PAPER = Costs.parse("1,2,1")

positive = st.fractions(Fraction(1, 50), 50, max_denominator=50)
costs = st.builds(Costs, positive, positive, positive)


def test_the_paper_example_is_chosen():
    decision = decide(Request(3), PAPER)
    chosen = decision.chosen
    assert (chosen.scheme, chosen.solvers, chosen.helpers, chosen.r) == ("solver-helper", 3, 2, 2)
    assert chosen.total == Fraction(17, 9)
    assert any("r*=2, K*=5" in reason for reason in decision.reasons)


@given(st.integers(1, 6), costs, st.integers(0, 3))
def test_enough_ranks_give_theorem_1(partitions, costs, more):
    optimum = sequential(partitions, costs)
    ranks = optimum.k_star + more if optimum.k_star else None
    if ranks is None:
        return
    chosen = decide(Request(partitions, ranks), costs).chosen
    assert chosen.total == optimum.t_star
    assert chosen.ranks == optimum.k_star


@given(st.integers(1, 6), st.integers(1, 9), costs)
def test_every_choice_is_feasible_and_predicted_from_its_own_plan(partitions, ranks, costs):
    decision = decide(Request(partitions, ranks), costs)
    assert min(c.total for c in decision.considered) == decision.chosen.total
    assert decision.chosen.total >= decision.optimum.t_star
    for candidate in decision.considered:
        plan = candidate.build()
        found = verify(plan)
        assert plan.ranks == candidate.ranks <= ranks
        assert (found.peak, found.load, found.computation_load) == (
            candidate.peak,
            candidate.load,
            candidate.r,
        )
        assert len(plan.packets) == candidate.packets
        assert found.most_partitions * costs.reduce == candidate.t_reduce


def test_more_ranks_never_make_the_choice_slower():
    totals = [decide(Request(5, ranks), Costs.parse("3,2,1")).chosen.total for ranks in range(1, 16)]
    assert totals == sorted(totals, reverse=True)


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("r", [0, 1, 2, 3])
def test_any_load_runs_on_any_number_of_ranks(ranks, r):
    decision = decide(Request(3, ranks, r=r), PAPER)
    chosen = decision.chosen
    assert verify(chosen.build()).load == chosen.load
    if chosen.r != r:
        assert any("does not fit" in reason for reason in decision.reasons)
    if ranks >= 5 or (ranks == 3 and r == 3):
        assert (chosen.solvers, chosen.r, chosen.scheme) == (3, r, "solver-helper")


def test_forced_helpers_and_scheme_are_respected():
    chosen = decide(Request(4, 9, r=2, helpers=5), PAPER).chosen
    assert (chosen.solvers, chosen.helpers, chosen.r) == (4, 5, 2)
    assert decide(Request(4, 9, scheme="uncoded"), PAPER).chosen.scheme == "uncoded"


def test_any_number_of_ranks_gets_the_exact_optimum_of_the_reference(golden):
    for row in golden("constrained")["constrained"]:
        costs = Costs(*(Fraction(row[name]) for name in ("c_m", "c_s", "c_r")))
        request = Request(row["Q"], row["P"], implementation=row["implementation"])
        assert decide(request, costs).chosen.total == Fraction(row["mix"]["cost"]), row


@given(st.integers(1, 6), costs)
def test_theorem_2_is_chosen_when_map_and_shuffle_overlap(partitions, costs):
    optimum = parallel(partitions, costs)
    chosen = decide(Request(partitions, optimum.k_star, implementation="parallel"), costs).chosen
    assert (chosen.total, chosen.ranks) == (optimum.t_star, optimum.k_star)


def test_a_multicast_that_costs_copies_never_pays():
    """With beta(j) = j coding moves the same bytes over the network as no coding (THEORY, warning 2)."""
    for text in ("1,2,1", "3,1,1", "1,9,1"):
        copies = Machine(Costs.parse(text), beta=tuple(Fraction(j) for j in range(1, 9)))
        for ranks in (3, 6, 8):
            decision = decide(Request(4, ranks), copies)
            plain = [c for c in decision.considered if c.load == 0 or c.traffic == ((1, c.load),)]
            assert decision.chosen.total == min(c.total for c in plain)


def test_bookkeeping_can_cost_more_than_coding_saves():
    costs = Costs.parse("1,2,1")
    ideal = decide(Request(8, 12), costs).chosen
    assert ideal.packets > 12
    slow = decide(Request(8, 12), Machine(costs, packet=Fraction(1), group=Fraction(1))).chosen
    assert slow.packets < ideal.packets


def test_ranks_that_share_cores_are_not_used_for_mapping_twice():
    costs = Costs.parse("5,1,1")
    two = ((1, Fraction(1)), (2, Fraction(2)), (8, Fraction(2)))
    crowded = decide(Request(4, 8), Machine(costs, map_slots=two, reduce_slots=two)).chosen
    assert crowded.t_map == Fraction(5, 2)


def test_padding_counts_against_packets_of_many_values():
    costs = Costs.parse("1,2,1")
    even = decide(Request(3, 5), costs).chosen
    skewed = decide(Request(3, 5), Machine(costs, padding=(Fraction(1), Fraction(2), Fraction(3)))).chosen
    assert even.r == 2
    assert skewed.scheme != even.scheme or skewed.r != even.r


def test_spares_are_named():
    assert any("3 spares" in reason for reason in decide(Request(3, 8), PAPER).reasons)


def test_an_unattainable_optimum_is_approached_by_more_ranks():
    costs = Costs.parse("5,1,1/10")
    totals = [decide(Request(3, ranks), costs).chosen.total for ranks in (3, 4, 8, 12)]
    assert totals == sorted(totals, reverse=True)
    assert totals[-1] > sequential(3, costs).t_star == Fraction(11, 10)


@pytest.mark.parametrize(
    ("request_", "ranks"),
    [
        (Request(3, r=2), 5),
        (Request(3, r=3), 3),
        (Request(3, r=0), 4),
        (Request(3, helpers=4), 7),
        (Request(3, scheme="uncoded"), 3),
        (Request(3), 5),
    ],
)
def test_wanted_ranks(request_, ranks):
    assert wanted_ranks(request_, PAPER) == ranks


def test_nothing_is_wanted_when_nothing_tells():
    assert wanted_ranks(Request(3), None) is None
    assert wanted_ranks(Request(3), Costs.parse("5,1,1")) is None


def test_what_cannot_be_is_refused_with_the_numbers():
    with pytest.raises(PlanError, match="2 ranks, 3 partitions, 2 helpers"):
        decide(Request(3, 2, helpers=2), PAPER)


@pytest.mark.parametrize(
    "numbers",
    [{"partitions": 0}, {"partitions": 3, "ranks": 0}, {"partitions": 3, "r": 4}, {"partitions": 3, "r": -1},
     {"partitions": 3, "helpers": -1}, {"partitions": 3, "scheme": "magic"}],
)  # fmt: skip
def test_numbers_out_of_range_are_refused(numbers):
    with pytest.raises(UsageError):
        Request(**numbers)


def test_planning_for_many_ranks_stays_within_the_packets_a_plan_may_have():
    decision = decide(Request(1000, 1000), Costs.parse("1,20,1"))
    assert all(c.packets <= MAX_PACKETS for c in decision.considered if c.scheme == "solver-helper")
