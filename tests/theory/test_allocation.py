"""Theorems 1 and 2 of arXiv 1702.07297 against known answers and against brute force."""

# A Fraction may equal an int, which mypy takes for a comparison that is never true.
# mypy: disable-error-code="comparison-overlap"

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from math import ceil
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import UsageError
from coded_mr.theory import (
    Allocation,
    Costs,
    approximate_parallel,
    approximate_sequential,
    communication_load,
    helpers_needed,
    minimisers,
    parallel,
    rows,
    sequential,
    sequential_time,
    uncoded_parallel,
    uncoded_sequential,
)
from tests.theory.known import (
    Golden,
    check_table,
    costs,
    differences,
    functions,
    load,
    positive,
    row_costs,
)


def test_sequential_meets_every_known_answer(golden: Golden) -> None:
    def check(row: dict[str, Any]) -> list[str]:
        best = sequential(row["Q"], row_costs(row))
        found = {
            "argmin": list(minimisers(row["Q"], row_costs(row))),
            "r_star": best.r_star,
            "K_star": best.k_star,
            "T_star": best.t_star,
            "peak": best.peak,
            "L": best.load,
        }
        exact = {key: Fraction(row[key]) for key in ("T_star", "peak", "L")}
        return differences({key: row[key] for key in ("argmin", "r_star", "K_star")} | exact, found)

    check_table(golden("allocation")["sequential"], check)


def test_parallel_meets_every_known_answer(golden: Golden) -> None:
    def check(row: dict[str, Any]) -> list[str]:
        best = parallel(row["Q"], row_costs(row))
        found = {
            "r_star": best.r_star,
            "r_minus": best.r_minus,
            "r_plus": best.r_plus,
            "alpha": best.alpha,
            "K_star": best.k_star,
            "T_star": best.t_star,
            "L": best.load,
            "case": "r>Q-1" if best.r_star > best.Q - 1 else "r<=Q-1",
        }
        exact = {key: Fraction(row[key]) for key in ("r_star", "alpha", "T_star", "L")}
        whole = {key: row[key] for key in ("r_minus", "r_plus", "K_star", "case")}
        return differences(whole | exact, found)

    check_table(golden("allocation")["parallel"], check)


def test_uncoded_meets_every_known_answer(golden: Golden) -> None:
    def check(row: dict[str, Any]) -> list[str]:
        one, two = uncoded_sequential(row["Q"], row_costs(row)), uncoded_parallel(row["Q"], row_costs(row))
        found = {"seq_T": one.t, "seq_K": one.k, "par_r": two.r, "par_T": two.t, "par_K": two.k}
        exact = {key: Fraction(row[key]) for key in ("seq_T", "par_r", "par_T")}
        return differences({key: row[key] for key in ("seq_K", "par_K")} | exact, found)

    check_table(golden("allocation")["uncoded"], check)


def test_parallel_parts_meet_every_known_placement(golden: Golden) -> None:
    def check(row: dict[str, Any]) -> list[str]:
        best = parallel(row["Q"], row_costs(row))
        found = {
            "r_star": best.r_star,
            "H": best.helpers,
            "parts": [(r, share, share * communication_load(best.Q, r)) for r, share in best.parts],
            "solver_map": best.peak,
            "helper_map": best.helper_peak,
            "L": best.load,
            "T_star": best.t_star,
        }
        exact = {key: Fraction(row[key]) for key in ("r_star", "solver_map", "helper_map", "L", "T_star")}
        parts = [(part["r"], Fraction(part["fraction"]), Fraction(part["load"])) for part in row["parts"]]
        return differences({"H": row["H"], "parts": parts} | exact, found)

    check_table(golden("allocation")["parallel_placements"], check)


def test_example_of_the_paper(golden: Golden) -> None:
    example = golden("allocation")["example"]
    best = sequential(3, Costs.parse("1,2,1"))
    assert (best.r_star, best.k_star, best.t_star) == (2, 5, Fraction(17, 9))
    assert (best.Q, best.costs) == (example["Q"], row_costs(example))
    assert (best.r_star, best.k_star) == (example["r_star"], example["K_star"])
    phases = ("T_map", "L", "T_shuffle", "T_reduce", "T_star")
    found = (best.t_map, best.load, best.t_shuffle, best.t_reduce, best.t_star)
    assert found == tuple(Fraction(example[key]) for key in phases)
    by_r = {str(row.r): row.t_map + row.t_shuffle for row in rows(3, best.costs, "sequential")}
    assert by_r == {r: Fraction(cost) for r, cost in example["cost_by_r"].items()}
    assert best.peak == Fraction(max(map(len, example["M"].values())), example["N"])
    assert best.helper_peak == Fraction(len(example["M"]["4"]), example["N"])


@given(functions, costs)
def test_sequential_is_the_largest_best_whole_load(Q: int, c: Costs) -> None:
    times = [c.map * r / Q + c.shuffle * load(Q, r) + c.reduce for r in range(Q + 1)]
    best = tuple(r for r, time in enumerate(times) if time == min(times))
    assert minimisers(Q, c) == best
    found = sequential(Q, c)
    assert (found.r_star, found.t_star) == (best[-1], min(times))
    assert found.t_star == found.t_map + found.t_shuffle + found.t_reduce
    assert [sequential_time(Q, c, r) for r in range(Q + 1)] == times


@given(functions, costs)
def test_parallel_is_where_map_and_shuffle_meet(Q: int, c: Costs) -> None:
    found = parallel(Q, c)
    assert 0 < found.r_star < Q
    assert found.t_map == found.t_shuffle == found.t_star - found.t_reduce
    # max(map, shuffle) is piecewise linear: its least value is at a whole r or where the lines cross.
    corners = [max(c.map * r / Q, c.shuffle * load(Q, r)) for r in range(Q + 1)]
    assert found.t_map <= min(corners)
    assert found.r_plus == ceil(found.r_star) == found.r_minus + 1
    assert found.r_star == found.alpha * found.r_plus + (1 - found.alpha) * found.r_minus
    assert found.load == found.alpha * load(Q, found.r_plus) + (1 - found.alpha) * load(Q, found.r_minus)


def mapped_by_a_helper(best: Allocation, helpers: int) -> Fraction:
    """Return the fraction of the files that each of some helpers maps; degree Q needs no helper."""
    return sum((share for r, share in best.parts if r < best.Q), Fraction(0)) / helpers


@given(functions, costs, st.sampled_from([sequential, parallel]))
def test_helpers_are_as_few_as_the_peak_allows(
    Q: int, c: Costs, allocate: Callable[[int, Costs], Allocation]
) -> None:
    best = allocate(Q, c)
    assert sum(share for _, share in best.parts) == 1
    assert all(share > 0 for _, share in best.parts)
    if best.helpers is None:
        assert best.r_star == 0
        assert best.k_star is None
        return
    assert best.k_star == Q + best.helpers
    assert best.helpers == helpers_needed(Q, best.r_star, best.implementation)
    assert best.helper_peak <= best.peak
    if best.helpers:
        assert best.helper_peak == mapped_by_a_helper(best, best.helpers)
    else:
        assert best.r_star == Q
    if best.helpers > 1:
        assert mapped_by_a_helper(best, best.helpers - 1) > best.peak


@given(functions, costs, positive, st.sampled_from([sequential, parallel]))
def test_scaling_all_costs_scales_only_times(
    Q: int, c: Costs, factor: Fraction, allocate: Callable[[int, Costs], Allocation]
) -> None:
    plain = allocate(Q, c)
    scaled = allocate(Q, Costs(c.map * factor, c.shuffle * factor, c.reduce * factor))
    assert scaled.t_star == plain.t_star * factor
    same = ("r_star", "r_minus", "r_plus", "alpha", "k_star", "peak", "load", "parts")
    assert [getattr(scaled, name) for name in same] == [getattr(plain, name) for name in same]


@given(functions, costs)
def test_coding_never_loses_to_the_uncoded_optimum(Q: int, c: Costs) -> None:
    one, two = uncoded_sequential(Q, c), uncoded_parallel(Q, c)
    assert one.t == min(c.map * r / Q + c.shuffle * (1 - Fraction(r, Q)) for r in (0, Q)) + c.reduce
    assert one.t == c.map * one.peak + c.shuffle * one.load + c.reduce
    assert c.map * two.peak == c.shuffle * two.load == two.t - c.reduce
    assert two.k == max(Q, ceil(Q / two.r))
    assert sequential(Q, c).t_star <= one.t
    assert parallel(Q, c).t_star <= two.t


@pytest.mark.parametrize("Q", [1, 2, 3, 7, 100, 10**6])
def test_exact_ties_go_to_the_larger_load(Q: int) -> None:
    for r in {1, 2, Q // 2, Q - 1, Q} & set(range(1, Q + 1)):
        tie = Costs(Fraction(Q + 1), Fraction(r * (r + 1)), Fraction(1))
        assert minimisers(Q, tie) == (r - 1, r)
        assert sequential_time(Q, tie, r - 1) == sequential_time(Q, tie, r)
        assert sequential(Q, tie).r_star == r
        dearer = Costs(tie.map + Fraction(1, 10**30), tie.shuffle, tie.reduce)
        assert minimisers(Q, dearer) == (r - 1,)
        cheaper = Costs(tie.map - Fraction(1, 10**30), tie.shuffle, tie.reduce)
        assert minimisers(Q, cheaper) == (r,)


def test_sequential_without_any_solver_mapping_is_only_approached() -> None:
    best = sequential(3, Costs.parse("5,1,1/10"))
    assert (best.r_star, best.k_star, best.helpers, best.load) == (0, None, None, 1)
    assert (best.t_star, best.peak, best.helper_peak) == (Fraction(11, 10), 0, 0)
    assert (best.r_minus, best.r_plus, best.parts) == (0, 0, ((0, 1),))


def test_sequential_with_every_solver_mapping_all_needs_no_helper() -> None:
    best = sequential(4, Costs.parse("1,4,0"))
    assert (best.r_star, best.k_star, best.helpers, best.load, best.t_star) == (4, 4, 0, 0, 1)


@pytest.mark.parametrize(
    ("Q", "text", "r_star", "k_star", "alpha"),
    [
        (4, "2,3,1", "14/9", 7, "5/9"),  # between two whole numbers
        (3, "1,1,1", "1", 6, "1"),  # whole
        (2, "1,1,1", "4/5", 5, "4/5"),  # below 1
        (3, "1,10,1", "30/13", 4, "4/13"),  # above Q - 1, which has its own K*
        (3, "1,6,1", "2", 5, "1"),  # exactly Q - 1, where both K* agree
        (1, "3,2,0", "2/5", 3, "2/5"),  # one function
    ],
)
def test_parallel_corner_cases(Q: int, text: str, r_star: str, k_star: int, alpha: str) -> None:
    best = parallel(Q, Costs.parse(text))
    assert (best.r_star, best.k_star, best.alpha) == (Fraction(r_star), k_star, Fraction(alpha))


@pytest.mark.parametrize("ratio", [Fraction(1, 10**9), Fraction(1), Fraction(22, 7), Fraction(10**13)])
def test_millions_of_functions_are_decided_by_neighbours(ratio: Fraction) -> None:
    Q, c = 10**6, Costs(Fraction(1), ratio, Fraction(0))
    best = sequential(Q, c)
    near = range(max(0, int(best.r_star) - 2), min(Q, int(best.r_star) + 2) + 1)
    assert best.t_star == min(sequential_time(Q, c, r) for r in near)
    both = parallel(Q, c)
    assert both.t_map == both.t_shuffle
    assert both.r_minus < both.r_star <= both.r_plus


@given(st.integers(1, 12), costs)
def test_rows_agree_with_the_optimum_and_the_parts(Q: int, c: Costs) -> None:
    table = rows(Q, c, "sequential")
    assert [row.r for row in table] == list(range(Q + 1))
    best = sequential(Q, c)
    row = table[int(best.r_star)]
    assert (row.p, row.L, row.helpers, row.K, row.total) == (
        best.peak,
        best.load,
        best.helpers,
        best.k_star,
        best.t_star,
    )
    assert all(row.total == row.t_map + row.t_shuffle + row.t_reduce >= best.t_star for row in table)
    both = rows(Q, c, "parallel")
    optimum = parallel(Q, c).t_star
    assert all(row.total == max(row.t_map, row.t_shuffle) + row.t_reduce >= optimum for row in both)
    assert all(row.t_map == c.map * row.r / Q and row.t_shuffle == c.shuffle * load(Q, row.r) for row in both)
    assert (both[0].helpers, both[0].K, both[Q].K) == (None, None, Q)


@pytest.mark.parametrize("Q", [0, -3, 2.0, "4", True, Fraction(3)])
@pytest.mark.parametrize(
    "function",
    [
        sequential,
        parallel,
        minimisers,
        uncoded_sequential,
        uncoded_parallel,
        approximate_sequential,
        approximate_parallel,
        lambda Q, c: rows(Q, c, "parallel"),
        lambda Q, c: sequential_time(Q, c, 1),
        lambda Q, c: communication_load(Q, 1),
        lambda Q, c: helpers_needed(Q, 1, "parallel"),
    ],
)
def test_the_number_of_functions_must_be_a_positive_int(function: Callable[..., Any], Q: Any) -> None:
    with pytest.raises(UsageError, match="number of partitions Q is"):
        function(Q, Costs.parse("1,2,1"))


def test_implementations_are_checked() -> None:
    unknown: Any = "both"
    with pytest.raises(UsageError, match="'both': choose 'sequential' or 'parallel'"):
        rows(3, Costs.parse("1,2,1"), unknown)
    with pytest.raises(UsageError, match="sequential allocation needs a whole number"):
        helpers_needed(3, Fraction(3, 2), "sequential")


def test_theory_is_imported_without_numpy_or_mpi() -> None:
    code = "import sys, coded_mr.theory; print(sorted({'numpy', 'mpi4py'} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
