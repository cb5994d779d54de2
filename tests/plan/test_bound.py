"""The lower bound of a plan: met by the paper's schemes, never above what a plan sends."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import PlanError
from coded_mr.plan import Batch, Plan, verify
from coded_mr.plan.bound import lower_bound
from coded_mr.plan.schemes import solver_helper, uncoded


@given(st.integers(1, 7), st.integers(1, 4), st.data())
def test_solver_helper_meets_the_bound_and_padding_never_undercuts_it(
    partitions: int, helpers: int, data: st.DataObject
) -> None:
    solvers = data.draw(st.integers(1, partitions))
    r = data.draw(st.integers(0, solvers))
    plan = solver_helper(partitions, solvers, r, 0 if r == solvers else helpers)
    bound = lower_bound(plan)
    assert bound <= verify(plan).load
    assert bound == Fraction(solvers - r, solvers * (r + 1)) or partitions % solvers
    if partitions % solvers == 0:
        assert bound == verify(plan).load


@given(st.integers(1, 9), st.integers(0, 4), st.data())
def test_uncoded_meets_the_bound_of_its_placement(partitions: int, helpers: int, data: st.DataObject) -> None:
    plan = uncoded(partitions, data.draw(st.integers(1, partitions)), helpers)
    assert lower_bound(plan) == verify(plan).load


def test_each_partition_of_a_bundle_counts() -> None:
    # Rank 0 reduces two of three partitions: the half that only rank 1 maps costs it two values, and so on.
    plan = Plan("", 3, ((0, 2), (1,)), (Batch((0,), Fraction(1, 2)), Batch((1,), Fraction(1, 2))), ())
    assert lower_bound(plan) == Fraction(1, 2) * Fraction(1, 3) + Fraction(1, 2) * Fraction(2, 3)


def test_a_partition_that_two_ranks_reduce_is_lacked_by_both() -> None:
    batches = (Batch((0,), Fraction(1, 2)), Batch((1,), Fraction(1, 2)))
    # d/(s+d-1) at s = 1 is 1, whether one rank lacks the value or two.
    assert lower_bound(Plan("", 1, ((), (), (0,), (0,)), batches, ())) == 1
    both = (Batch((0, 1), Fraction(1)),)
    assert lower_bound(Plan("", 1, ((), (), (0,), (0,)), both, ())) == Fraction(2, 3)


def test_plans_without_partitions_batches_or_mappers_are_refused() -> None:
    plan = uncoded(2, 2)
    for broken in (replace(plan, batches=()), replace(plan, partitions=0, reduces=((), ()))):
        with pytest.raises(PlanError, match="no communication load to bound"):
            lower_bound(broken)
    with pytest.raises(PlanError, match="mapped by nobody"):
        lower_bound(replace(plan, batches=(Batch((), Fraction(1)),)))
