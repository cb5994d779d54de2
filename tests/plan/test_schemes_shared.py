"""Files shared out among plans: Theorem 2, hybrids and mixtures, as exact plans."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from coded_mr.errors import PlanError, UsageError
from coded_mr.plan import Plan, verify
from coded_mr.plan.bound import lower_bound
from coded_mr.plan.schemes import (
    hybrid,
    mixture,
    parallel,
    shared,
    sliced,
    solver_helper,
    symmetric,
    uncoded,
)
from coded_mr.theory import allocation
from coded_mr.theory.constrained import Mixture, Part
from coded_mr.theory.costs import Costs
from coded_mr.theory.hybrid import best_hybrid
from coded_mr.theory.mixture import best_mixture, mixture_for

HALF = Fraction(1, 2)

costs = st.builds(Costs, *[st.fractions(Fraction(1, 9), 20, max_denominator=9)] * 3)
implementations = st.sampled_from(["sequential", "parallel"])


def costs_of(row: dict[str, str]) -> Costs:
    return Costs(*(Fraction(row[name]) for name in ("c_m", "c_s", "c_r")))


def test_theorem_2_has_the_parts_of_the_reference(golden):
    for row in golden("parallel_placements")["parallel_placements"]:
        Q, H = row["Q"], row["H"]
        plan = parallel(Q, None, costs_of(row))
        found = verify(plan)
        assert (len(plan.solvers), len(plan.helpers)) == (Q, H)
        assert found.load == Fraction(row["L"])
        assert found.helper_peak == Fraction(row["helper_map"])
        assert found.peak == max(Fraction(row["solver_map"]), found.helper_peak)
        assert found.computation_load == Fraction(row["r_star"])
        for part in row["parts"]:
            batches = [b for b in plan.batches if sum(k < Q for k in b.mappers) == part["r"]]
            assert sum(batch.share for batch in batches) == Fraction(part["fraction"])
            assert all(len(batch.mappers) == part["r"] + (part["r"] < Q) for batch in batches)
        loads = {part["r"] + 1: Fraction(part["load"]) for part in row["parts"] if part["r"] < Q}
        assert dict(found.traffic) == loads


@given(st.integers(1, 6), costs)
def test_theorem_2_is_met_exactly(partitions, costs):
    optimum = allocation.parallel(partitions, costs)
    assume(optimum.k_star <= 40)
    plan = parallel(partitions, None, costs)
    found = verify(plan)
    assert plan.ranks == optimum.k_star
    assert found.load == optimum.load == lower_bound(plan)
    assert (found.peak, found.computation_load) == (optimum.peak, optimum.r_star)
    assert found.helper_peak == optimum.helper_peak


def test_other_helper_counts_change_only_what_helpers_map():
    few, many = (verify(parallel(4, helpers, Costs(2, 3, 1))) for helpers in (1, 9))
    assert few.load == many.load == Fraction(7, 27)
    assert (few.helper_peak, many.helper_peak) == (1, Fraction(1, 9))
    with pytest.raises(PlanError, match="helper"):
        parallel(4, 0, Costs(2, 3, 1))
    with pytest.raises(UsageError):
        parallel(0, None, Costs(2, 3, 1))


def test_hybrids_have_peak_and_load_of_the_reference(golden):
    rows = [row for row in golden("constrained")["constrained"] if row["P"] <= 6]
    assert rows
    for row in rows:
        found = best_hybrid(row["Q"], row["P"], costs_of(row), row["implementation"])
        plan = hybrid(found)
        seen = verify(plan)
        assert (seen.peak, seen.load) == (Fraction(row["ip"]["p"]), Fraction(row["ip"]["L"])), row
        assert len(plan.solvers) == row["ip"]["S"]
        assert plan.ranks == found.ranks
        assert lower_bound(plan) <= seen.load


def test_mixtures_cost_what_the_reference_says(golden):
    rows = [row for row in golden("constrained")["constrained"] if row["P"] <= 6]
    assert rows
    for row in rows:
        price = costs_of(row)
        plan = mixture(best_mixture(row["Q"], row["P"], price, row["implementation"]))
        seen = verify(plan)
        t_map, t_shuffle = price.map * seen.peak, price.shuffle * seen.load
        both = t_map + t_shuffle if row["implementation"] == "sequential" else max(t_map, t_shuffle)
        assert both + price.reduce * seen.most_partitions == Fraction(row["mix"]["cost"]), row
        assert plan.ranks <= row["P"]


@given(st.integers(1, 7), st.integers(0, 4), costs, implementations, st.data())
def test_mixtures_are_decodable_and_exact(partitions, helpers, costs, implementation, data):
    solvers = data.draw(st.integers(1, partitions))
    found = mixture_for(partitions, solvers, helpers, costs, implementation)
    plan = mixture(found)
    seen = verify(plan)
    assert (seen.peak, seen.load, seen.computation_load) == (found.peak, found.load, found.r)
    assert (len(plan.solvers), plan.scheme) == (solvers, "mixture")
    assert lower_bound(plan) <= seen.load
    if partitions == solvers:
        assert lower_bound(plan) == seen.load


@given(st.integers(1, 6), st.integers(1, 9), costs, implementations)
def test_hybrids_are_decodable_and_exact(partitions, ranks, costs, implementation):
    found = best_hybrid(partitions, ranks, costs, implementation)
    plan = hybrid(found)
    seen = verify(plan)
    assert (seen.peak, seen.load, seen.computation_load) == (found.peak, found.load, found.r)
    assert (plan.ranks, plan.scheme) == (found.ranks, "hybrid")


def test_a_mixture_of_two_helper_degrees_is_no_hybrid():
    parts = (Part("helper", 1, HALF), Part("helper", 2, HALF))
    found = Mixture("parallel", 4, Costs(1, 1, 1), 4, 3, parts)
    assert verify(mixture(found)).load == found.load
    with pytest.raises(PlanError, match="one degree"):
        hybrid(found)


def test_loads_are_the_weighted_mean_of_the_parts():
    parts = [
        (solver_helper(6, 4, 2, 3), Fraction(1, 2)),
        (symmetric(6, 4, 3), Fraction(1, 3)),
        (uncoded(6, 4), Fraction(1, 6)),
    ]
    plan = shared(parts, "three")
    found = verify(plan)
    assert (plan.scheme, plan.ranks, plan.helpers) == ("three", 7, (4, 5, 6))
    assert found.load == sum(verify(part).load * share for part, share in parts)
    assert found.computation_load == sum(verify(part).computation_load * share for part, share in parts)
    assert found.helper_peak == Fraction(1, 6)


def test_packets_of_each_plan_keep_their_order_and_are_spread_evenly():
    first, second = solver_helper(6, 6, 2, 3), symmetric(6, 6, 4)
    plan = shared([(first, HALF), (second, HALF)], "spread")
    own = [packet.terms[0].batch < len(first.batches) for packet in plan.packets]
    assert [p for p, mine in zip(plan.packets, own, strict=True) if mine] == list(first.packets)
    share = Fraction(len(first.packets), len(plan.packets))
    assert all(abs(done - share * (n + 1)) <= 1 for n, done in enumerate(accumulate(own)))


@given(st.integers(1, 5), st.data())
def test_one_plan_for_all_the_files_stays_as_it_is(partitions, data):
    r = data.draw(st.integers(1, partitions))
    plan = symmetric(partitions, partitions, r)
    nothing = uncoded(partitions, partitions, 2)
    assert shared([(nothing, Fraction(0)), (plan, Fraction(1))], "symmetric") == plan


def different(first: Plan, second: Plan) -> list[tuple[Plan, Fraction]]:
    return [(first, HALF), (second, HALF)]


@pytest.mark.parametrize(
    "plans",
    [
        [],
        [(symmetric(3, 3, 1), HALF)],
        [(symmetric(3, 3, 1), Fraction(3, 2)), (symmetric(3, 3, 2), -HALF)],
        different(symmetric(3, 3, 1), symmetric(4, 3, 1)),
        different(symmetric(4, 4, 1), symmetric(4, 2, 1)),
        different(symmetric(4, 4, 1), solver_helper(4, 3, 1, 1)),
    ],
)
def test_plans_that_do_not_fit_together_are_refused(plans):
    with pytest.raises(PlanError, match="share"):
        shared(plans, "unfit")


@given(st.integers(1, 5), st.integers(1, 4), st.data())
def test_slices_change_no_load(partitions, count, data):
    r = data.draw(st.integers(0, partitions))
    plan = solver_helper(partitions, partitions, r, 0 if r == partitions else 2)
    assert verify(sliced(plan, count)) == verify(plan)
    assert len(sliced(plan, count).packets) == count * len(plan.packets)
    with pytest.raises(PlanError, match="0 slices"):
        sliced(plan, 0)
