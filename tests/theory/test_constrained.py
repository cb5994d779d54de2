"""The best mixture and the best hybrid for few ranks against known answers and against brute force.

tests/data/constrained.json and solvers_helpers.json were computed by enumeration and linear programs over
the rationals, not by this package.
"""

# A Fraction may equal an int, which mypy takes for a comparison that is never true.
# mypy: disable-error-code="comparison-overlap"

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coded_mr.errors import UsageError
from coded_mr.theory import Costs, Implementation, parallel, sequential
from coded_mr.theory.constrained import Mixture, Part, helper_load, solver_load
from coded_mr.theory.hybrid import best_hybrid
from coded_mr.theory.mixture import best_mixture, mixture_for, solvers_by_bound

Golden = Callable[[str], Any]
Point = tuple[Fraction, Fraction]
ONE = Fraction(1)
implementations = st.sampled_from(["sequential", "parallel"])
few = st.sampled_from([Fraction(a, b) for a in (1, 2, 3, 5, 9, 30) for b in (1, 2, 7)])
costs = st.builds(Costs, few, few, few | st.just(Fraction(0)))


def costs_in(row: dict[str, Any]) -> Costs:
    """Return the costs that a known answer is for."""
    return Costs.parse(f"{row['c_m']},{row['c_s']},{row['c_r']}")


def bundles_cost(c: Costs, Q: int, S: int) -> Fraction:
    """Return the time to reduce the longest bundle."""
    return c.reduce * -(-Q // S)


def combined(c: Costs, how: Implementation, point: Point) -> Fraction:
    """Return the time of map and shuffle at (p, L)."""
    times = (c.map * point[0], c.shuffle * point[1])
    return sum(times, Fraction(0)) if how == "sequential" else max(times)


def vertices(Q: int, S: int, H: int) -> Iterator[Point]:
    """Yield (p, L) at every basic solution of the linear program: one part, or two with both limits tight."""
    loads = {("h", r): helper_load(Q, S, r) for r in range(S + 1) if H}
    loads |= {("s", r): solver_load(Q, S, r) for r in range(1, S + 1)}
    for (kind, r), load in loads.items():
        yield max(Fraction(r, S), Fraction(kind == "h", max(H, 1))), load
    for one, two in combinations(loads, 2):
        # x of the files are in `one`; H p = helpers' share and S p = mean degree are two equations in (x, p).
        helped = [Fraction(part[0] == "h") for part in (one, two)]
        slope = H * (one[1] - two[1]) - S * (helped[0] - helped[1])
        if slope:
            x = (S * helped[1] - H * two[1]) / slope
            if 0 <= x <= 1:
                p = (x * one[1] + (1 - x) * two[1]) / S
                yield p, x * loads[one] + (1 - x) * loads[two]


def least_by_vertices(Q: int, S: int, H: int, c: Costs, how: Implementation) -> Fraction:
    """Return the least time over the vertices and, in parallel, where map meets shuffle between any two."""
    points = list(vertices(Q, S, H))
    best = min(combined(c, how, point) for point in points)
    if how == "parallel":
        gaps = [(c.map * p - c.shuffle * load, p) for p, load in points]
        for (a, p), (b, q) in combinations(gaps, 2):
            if a * b < 0:
                best = min(best, c.map * (p + (q - p) * a / (a - b)))
    return best + bundles_cost(c, Q, S)


def every_hybrid(Q: int, P: int, c: Costs, how: Implementation) -> Iterator[tuple[Any, ...]]:
    """Yield (cost, ranks, -r, -r_c, -S, x) of every hybrid that P ranks allow, r = r_c if x is 0 or 1."""
    for S in range(1, min(Q, P) + 1):
        for H in range(P - S + 1):
            for r in range(S + 1):
                for own in (r, r + 1):
                    if own > S or (r == S and H):
                        continue
                    for x, point in along(Q, S, H, r, own, c, how):
                        cost = combined(c, how, point) + bundles_cost(c, Q, S)
                        yield cost, S + H, -(r if x else own), -(own if x < 1 else r), -S, x


def along(
    Q: int, S: int, H: int, r: int, own: int, c: Costs, how: Implementation
) -> Iterator[tuple[Fraction, Point]]:
    """Yield (x, (p, L)) for the x that may be best, helpers having x of the files."""

    def at(x: Fraction) -> Point:
        load = (x * helper_load(Q, S, r) if x else 0) + ((1 - x) * solver_load(Q, S, own) if x < 1 else 0)
        return max((x * r + (1 - x) * own) / S, x / H if x else Fraction(0)), Fraction(load)

    if not H:
        if own:
            yield Fraction(0), at(Fraction(0))
        return
    if not own:
        yield ONE, at(ONE)
        return
    kinks = [Fraction(0), min(ONE, Fraction(own * H, S + (own - r) * H)), ONE]
    for x in kinks[1:]:
        yield x, at(x)
    if how == "parallel":
        for low, high in pairwise(kinks):
            gaps = [c.map * p - c.shuffle * load for p, load in (at(low), at(high))]
            if gaps[0] * gaps[1] < 0:
                x = low + (high - low) * gaps[0] / (gaps[0] - gaps[1])
                yield x, at(x)


def test_bundle_loads_are_those_of_the_reference(golden: Golden) -> None:
    for row in golden("plans")["uneven_loads"]:
        assert helper_load(row["Q"], row["S"], row["r"]) == Fraction(row["L_helper"]), row
        if row["r"]:
            assert solver_load(row["Q"], row["S"], row["r"]) == Fraction(row["L_cdc"]), row


@pytest.mark.parametrize("Q", range(1, 15))
def test_bundle_loads_are_counted_packet_by_packet(Q: int) -> None:
    for S in range(1, min(Q, 7) + 1):
        width = [Q // S + (k < Q % S) for k in range(S)]
        for r in range(S + 1):
            owners = len(list(combinations(range(S), r)))
            groups = list(combinations(range(S), r + 1))
            coded = sum(max(width[k] for k in group) for group in groups)
            assert helper_load(Q, S, r) == Fraction(coded, Q * owners)
            if r:
                coded = sum(max(width[k] for k in group if k != i) for group in groups for i in group)
                assert solver_load(Q, S, r) == Fraction(coded, r * Q * owners)


@pytest.mark.parametrize("Q", range(1, 31))
def test_loads_fall_in_the_order_that_the_corners_assume(Q: int) -> None:
    for S in range(1, Q + 1):
        h = [helper_load(Q, S, r) for r in range(S + 1)]
        s = [solver_load(Q, S, r) for r in range(1, S + 1)]
        helped, sent = [a - b for a, b in pairwise(h)], [a - b for a, b in pairwise(s)]
        assert helped == sorted(helped, reverse=True)
        assert sent == sorted(sent, reverse=True)
        assert all(a >= b for a, b in zip(s, h[1:], strict=True))
        assert all(a <= b for a, b in zip(helped[1:], sent, strict=True))
        assert all(a >= b for a, b in zip(helped, sent, strict=False))


def test_solvers_and_helpers_meet_every_known_answer(golden: Golden) -> None:
    rows = golden("solvers_helpers")["solvers_helpers"]
    assert len(rows) > 200
    for row in rows:
        best = mixture_for(row["Q"], row["Q"], row["H"], costs_in(row), row["implementation"])
        assert best.cost == Fraction(row["T"]), row


def test_constrained_ranks_meet_every_known_answer(golden: Golden) -> None:
    rows = golden("constrained")["constrained"]
    assert len(rows) > 400
    for row in rows:
        asked = (row["Q"], row["P"], costs_in(row), row["implementation"])
        assert best_mixture(*asked).cost == Fraction(row["mix"]["cost"]), row
        hybrid = best_hybrid(*asked)
        found = {
            "S": hybrid.solvers,
            "H": hybrid.helpers,
            "r": hybrid.parts[0].r,
            "rc": hybrid.parts[-1].r,
            "x": str(hybrid.helper_share),
            "p": str(hybrid.peak),
            "L": str(hybrid.load),
            "cost": str(hybrid.cost),
        }
        assert found == row["ip"], row


@given(st.integers(1, 9), st.integers(0, 7), costs, implementations, st.data())
def test_a_mixture_is_the_least_over_all_vertices_of_its_linear_program(
    Q: int, H: int, c: Costs, how: Implementation, data: st.DataObject
) -> None:
    S = data.draw(st.integers(1, min(Q, 5)))
    best = mixture_for(Q, S, H, c, how)
    assert best.cost == least_by_vertices(Q, S, H, c, how)
    assert 1 <= len(best.parts) <= 3
    assert sum(part.fraction for part in best.parts) == 1
    assert best.cost == combined(c, how, (best.peak, best.load)) + best.times.reduce
    assert best.times == (c.map * best.peak, c.shuffle * best.load, bundles_cost(c, Q, S))
    assert best.r <= S * best.peak
    assert best.helper_share <= H * best.peak


@given(st.integers(1, 7), st.integers(1, 10), costs, implementations)
def test_the_best_mixture_is_the_least_of_all_solvers_and_helpers(
    Q: int, P: int, c: Costs, how: Implementation
) -> None:
    every = [mixture_for(Q, S, H, c, how) for S in range(1, min(Q, P) + 1) for H in range(P - S + 1)]
    best = best_mixture(Q, P, c, how)
    key = min((found.cost, found.ranks, -found.solvers) for found in every)
    assert (best.cost, best.ranks, -best.solvers) == key
    assert all(bound <= mixture_for(Q, S, P - S, c, how).cost for bound, S in solvers_by_bound(Q, P, c, how))


@settings(max_examples=60)
@given(st.integers(1, 6), st.integers(1, 8), costs, implementations)
def test_the_best_hybrid_is_the_preferred_one_of_all(Q: int, P: int, c: Costs, how: Implementation) -> None:
    best = best_hybrid(Q, P, c, how)
    r, own = best.parts[0].r, best.parts[-1].r
    found = (best.cost, best.ranks, -r, -own, -best.solvers, best.helper_share)
    assert found == min(every_hybrid(Q, P, c, how))
    assert best.cost >= best_mixture(Q, P, c, how).cost


@given(st.integers(1, 12), costs, st.integers(0, 3))
def test_enough_ranks_give_the_theorems(Q: int, c: Costs, more: int) -> None:
    for how, theorem in (("sequential", sequential(Q, c)), ("parallel", parallel(Q, c))):
        if theorem.k_star is None:
            continue
        best = best_mixture(Q, theorem.k_star + more, c, theorem.implementation)
        assert best.cost == theorem.t_star
        # Only where reducing takes no time can fewer solvers do as well.
        assert best.ranks == theorem.k_star or (c.reduce == 0 and best.ranks < theorem.k_star)
        if how == "sequential":
            assert best_hybrid(Q, theorem.k_star + more, c, "sequential").cost == theorem.t_star
        if best.solvers == Q:
            assert (best.r, best.load) == (theorem.r_star, theorem.load)


@given(st.integers(2, 8), st.integers(2, 12), costs)
def test_a_sequential_hybrid_is_as_good_as_a_mixture_but_for_one_corner(Q: int, P: int, c: Costs) -> None:
    # Helpers alone at p = 1/H, at two degrees, are the one corner that no hybrid has.
    best = best_mixture(Q, P, c, "sequential")
    degrees = [part.r for part in best.parts if part.kind == "helper"]
    if len(degrees) < 2:
        assert best_hybrid(Q, P, c, "sequential").cost == best.cost
    else:
        assert (best.peak, len(best.parts)) == (Fraction(1, best.helpers), 2)


@settings(max_examples=25)
@given(st.integers(1, 8), costs, implementations)
def test_more_ranks_never_cost_more(Q: int, c: Costs, how: Implementation) -> None:
    theorem = sequential(Q, c) if how == "sequential" else parallel(Q, c)
    for best in (best_mixture, best_hybrid):
        found = [best(Q, P, c, how).cost for P in range(1, 14)]
        assert found == sorted(found, reverse=True)
        assert found[-1] >= theorem.t_star


@pytest.mark.parametrize("how", ["sequential", "parallel"])
def test_a_linear_program_solver_finds_the_same(how: Implementation) -> None:
    optimize = pytest.importorskip("scipy.optimize")
    for text in ("1,2,1", "5,1,1/10", "1,30,3"):
        for Q, S, H in ((7, 4, 3), (8, 8, 2), (9, 5, 0), (6, 6, 13)):
            c = Costs.parse(text)
            loads = [(1, r, helper_load(Q, S, r)) for r in range(S)]
            loads += [(0, r, solver_load(Q, S, r)) for r in range(1, S + 1)]
            # Variables: a fraction for each of the above, p, and the time of map and shuffle.
            sent = [float(c.shuffle * load) for _, _, load in loads]
            rows = [[float(r) for _, r, _ in loads] + [-S, 0], [float(h) for h, _, _ in loads] + [-H, 0]]
            if how == "sequential":
                rows.append([*sent, float(c.map), -1])
            else:
                rows += [[*sent, 0, -1], [0.0] * len(loads) + [float(c.map), -1]]
            solved = optimize.linprog(
                [0.0] * len(loads) + [0, 1],
                A_ub=rows,
                b_ub=[0] * len(rows),
                A_eq=[[1.0] * len(loads) + [0, 0]],
                b_eq=[1],
            )
            best = mixture_for(Q, S, H, c, how)
            assert float(best.cost - best.times.reduce) == pytest.approx(solved.fun, rel=1e-9)


@pytest.mark.parametrize(
    ("ranks", "cost"), [(1, "5"), (2, "3"), (3, "3"), (4, "23/12"), (5, "28/15"), (6, "11/6")]
)
def test_four_partitions_on_few_ranks(ranks: int, cost: str) -> None:
    assert best_hybrid(4, ranks, Costs.parse("1,2,1"), "sequential").cost == Fraction(cost)


def test_a_thousand_ranks_are_planned_exactly() -> None:
    best = best_mixture(1000, 1000, Costs.parse("1,2,1"), "sequential")
    assert (best.solvers, best.helpers, best.parts) == (1000, 0, (Part("cdc", 45, ONE),))
    assert best_hybrid(1000, 1000, Costs.parse("1,2,1"), "sequential") == best


@given(st.integers(2, 40), st.data())
def test_solvers_and_helpers_together_send_as_little_as_cdc_on_all_ranks(S: int, data: st.DataObject) -> None:
    # Every file on g = r+1 of the ranks, L = 1/g - 1/(S+H), although only S of them reduce.
    H = data.draw(st.integers(1, 40))
    g = data.draw(st.integers(1, min(S, (S + H) // H)))
    x = Fraction(g * H, S + H)
    parts = (Part("helper", g - 1, x), Part("cdc", g, 1 - x))
    found = Mixture("sequential", S, Costs.parse("1,1,1"), S, H, parts)
    assert (found.peak, found.load) == (Fraction(g, S + H), Fraction(1, g) - Fraction(1, S + H))


def test_parts_are_joined_and_put_in_order() -> None:
    half, quarter = Fraction(1, 2), Fraction(1, 4)
    parts = (
        Part("cdc", 2, quarter),
        Part("helper", 3, half),
        Part("helper", 1, quarter),
        Part("cdc", 1, 0 * ONE),
    )
    found = Mixture("parallel", 3, Costs.parse("1,1,0"), 3, 2, parts)
    assert found.parts == (Part("helper", 1, quarter), Part("cdc", 2, quarter), Part("cdc", 3, half))
    assert (found.ranks, found.r, found.helper_share) == (5, Fraction(9, 4), quarter)


@pytest.mark.parametrize(
    ("S", "H", "parts"),
    [
        (3, 1, [("helper", 1, "1/2")]),  # half of the files are nowhere
        (3, 0, [("helper", 1, "1")]),  # no helper to send
        (3, 1, [("helper", 1, "3/2"), ("cdc", 1, "-1/2")]),
        (4, 1, [("helper", 1, "1")]),  # more solvers than partitions
        (0, 1, [("helper", 0, "1")]),
        (3, -1, [("cdc", 1, "1")]),
    ],
)
def test_mixtures_that_cannot_be_are_refused(S: int, H: int, parts: list[tuple[Any, int, str]]) -> None:
    with pytest.raises(UsageError):
        Mixture(
            "parallel",
            3,
            Costs.parse("1,1,1"),
            S,
            H,
            tuple(Part(kind, r, Fraction(fraction)) for kind, r, fraction in parts),
        )


@pytest.mark.parametrize(("Q", "P"), [(0, 3), (3, 0), (-1, 2)])
def test_counts_below_one_are_refused(Q: int, P: int) -> None:
    for best in (best_mixture, best_hybrid):
        with pytest.raises(UsageError):
            best(Q, P, Costs.parse("1,1,1"), "sequential")


@pytest.mark.parametrize(("S", "H"), [(0, 1), (4, 1), (2, -1)])
def test_solvers_and_helpers_out_of_range_are_refused(S: int, H: int) -> None:
    with pytest.raises(UsageError, match="cannot share 3 partitions"):
        mixture_for(3, S, H, Costs.parse("1,1,1"), "parallel")
    unknown: Any = "both"
    with pytest.raises(UsageError, match="'both'"):
        mixture_for(3, 1, 1, Costs.parse("1,1,1"), unknown)


@pytest.mark.parametrize(("S", "r"), [(2, 0), (2, 3), (4, 1), (0, 1)])
def test_solver_loads_out_of_range_are_refused(S: int, r: int) -> None:
    with pytest.raises(UsageError, match="no load for Q=3"):
        solver_load(3, S, r)
