"""The closed forms of both optima for many partitions, against known answers and the exact optima."""

# A Fraction may equal an int, which mypy takes for a comparison that is never true.
# mypy: disable-error-code="comparison-overlap"

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import Any

import pytest
from hypothesis import given

from coded_mr.theory import Costs, approximate_parallel, approximate_sequential, parallel, sequential
from tests.theory.known import Golden, check_table, costs, differences, functions


def test_approximations_meet_every_known_answer(golden: Golden) -> None:
    def check(row: dict[str, Any]) -> list[str]:
        given_costs = Costs(Fraction(row["c_m"]), Fraction(row["c_s"]), Fraction(1))
        one, two = approximate_sequential(row["Q"], given_costs), approximate_parallel(row["Q"], given_costs)
        floats = {
            "r13": one.r,
            "r13_crude": one.r_crude,
            "K14": one.k,
            "K14_crude": one.k_crude,
            "r20": two.r,
            "K21": two.k,
        }
        exact = {"r_seq": Fraction(row["r_seq"]), "r_par": Fraction(row["r_par"])}
        found = {
            "r_seq": sequential(row["Q"], given_costs).r_star,
            "r_par": parallel(row["Q"], given_costs).r_star,
        }
        return differences(exact, found) + differences(
            {key: pytest.approx(row[key], rel=1e-9) for key in floats}, floats
        )

    check_table(golden("allocation")["approx"], check)


@given(functions, costs)
def test_sequential_approximation_is_within_one(Q: int, c: Costs) -> None:
    rough = min(max(approximate_sequential(Q, c).r, 0.0), float(Q))
    assert abs(float(sequential(Q, c).r_star) - rough) <= 1 + 1e-9


def test_one_hundred_functions_at_equal_costs() -> None:
    equal = Costs.parse("1,1,1")
    assert (sequential(100, equal).r_star, sequential(100, equal).k_star) == (9, 112)
    assert approximate_sequential(100, equal).k == pytest.approx(111.05, abs=0.01)
    assert approximate_sequential(100, equal).k_crude == pytest.approx(110)


def test_approximations_stay_finite_at_extreme_costs() -> None:
    steep = Costs.parse("1e-100,1e100,1")
    assert approximate_parallel(5, steep).r == pytest.approx(5)
    assert approximate_sequential(5, steep).r < inf
    flat = Costs.parse("1e100,1e-100,1")
    assert approximate_sequential(5, flat).k == inf
    assert approximate_parallel(5, flat).k > 1e99
