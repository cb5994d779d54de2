"""What the paper says about Q, c_m and multicast, seen on simulated machines."""

from __future__ import annotations

from fractions import Fraction

import pytest

from coded_mr.errors import UsageError
from coded_mr.simulate import Machine, Noise, Study, exponent
from coded_mr.theory import allocation
from coded_mr.theory.costs import Costs

BOTH = pytest.mark.parametrize("implementation", ["sequential", "parallel"])
SIZES = (16, 32, 64, 128, 256, 512, 1024)


def best_row(Q, costs, implementation="sequential", **rest):
    study = Study(Q, Machine(Costs.parse(costs), **rest), implementation)
    return study.rows([study.best()])[0]


@BOTH
def test_the_best_load_is_the_theorems(golden, implementation):
    for row in golden("allocation")[implementation]:
        if row["Q"] <= 60:
            costs = Costs.parse(f"{row['c_m']},{row['c_s']},{row['c_r']}")
            assert Study(row["Q"], Machine(costs), implementation).best() == Fraction(row["r_star"])


@BOTH
def test_map_and_shuffle_fall_like_the_root_of_q_and_uncoded_stays(implementation):
    rows = [best_row(Q, "1,1,1", implementation) for Q in SIZES]
    coded, uncoded = (
        exponent([(Q, times.total - times.reduce) for Q, times in zip(SIZES, column, strict=True)])
        for column in ([row.coded_times for row in rows], [row.uncoded_times for row in rows])
    )
    assert coded == pytest.approx(-0.5, abs=0.05)
    assert uncoded == pytest.approx(0, abs=1e-9)
    assert len({round(row.uncoded_times.total, 9) for row in rows}) == 1


@pytest.mark.parametrize(("Q", "slack"), [(100, 0.25), (400, 0.1), (10_000, 0.02)])
def test_four_times_the_map_cost_doubles_the_helpers_and_halves_r(Q, slack):
    cheap, dear = (best_row(Q, costs) for costs in ("1,1,1", "4,1,1"))
    assert dear.coded.helpers / cheap.coded.helpers == pytest.approx(2, rel=slack)
    assert cheap.r / dear.r == pytest.approx(2, rel=slack)


@BOTH
@pytest.mark.parametrize("network", ["shared", "ports"])
@pytest.mark.parametrize("costs", ["1,2,1", "3,1,0", "1,20,1"])
def test_coding_never_wins_when_a_multicast_is_a_send_to_each(implementation, network, costs):
    study = Study(12, Machine(Costs.parse(costs), network, multicast="linear"), implementation)
    for row in study.rows([*study.whole_loads(), study.best()]):
        assert row.gain <= 1 + 1e-12


def test_coding_pays_on_the_shared_link_when_multicast_is_cheap():
    assert best_row(20, "1,1,0").gain > 2
    assert 1 < best_row(20, "1,1,0", multicast=(1, 2)).gain < best_row(20, "1,1,0").gain


def test_multicast_costs_move_the_best_load():
    # Only packets for two are cheap, which are those of r = 1.
    assert best_row(9, "3,4,0").r > 1
    assert best_row(9, "3,4,0", multicast=(1, 1, *map(Fraction, range(3, 12)))).r == 1


@BOTH
@pytest.mark.parametrize("kind", ["exponential", "lognormal"])
def test_noise_raises_the_time_and_repeats(implementation, kind):
    def totals(coefficient, seed=4):
        machine = Machine(Costs.parse("1,1,1"), noise=Noise(kind, coefficient, seed))
        return Study(10, machine, implementation, repeat=20).rows([2, 3], "packets")

    quiet, noisy = totals(0), totals(0.3)
    for calm, rough in zip(quiet, noisy, strict=True):
        assert rough.coded_times.total > calm.coded_times.total
        assert rough.coded_times.least < rough.coded_times.total < rough.coded_times.most
        assert calm.coded_times.deviation == 0 < rough.coded_times.deviation
    assert totals(0.3) == noisy
    assert totals(0.3, seed=5) != noisy


def test_packets_and_loads_agree():
    machine = Machine(Costs.parse("1,2,1"), noise=Noise("exponential", 0.5), multicast=(1, Fraction(5, 4)))
    study = Study(7, machine, repeat=3)
    for by_packets, by_loads in zip(
        *(study.rows(range(1, 8), by) for by in ("packets", "loads")), strict=True
    ):
        assert by_packets == by_loads


def test_the_rival_spares_itself_the_noise():
    # At c_m = c_s both ends cost the same without noise; mapping everything everywhere suffers most from it.
    study = Study(20, Machine(Costs.parse("1,1,1"), noise=Noise("exponential", 0.5)), repeat=10)
    (row,) = study.rows([4])
    assert row.uncoded.solver_share == Fraction(1, row.coded.ranks)


def test_helpers_given_are_the_helpers_used():
    study = Study(4, Machine(Costs.parse("1,1,1")), helpers=3)
    rows = study.rows(range(5), "packets")
    assert [row.coded.helpers for row in rows] == [3, 3, 3, 3, 0]
    assert [row.uncoded.helpers for row in rows] == [3] * 5
    assert rows[0].coded_times.map == pytest.approx(1 / 3)


def test_endless_helpers_cannot_be_simulated_by_packets():
    study = Study(4, Machine(Costs.parse("9,1,1")))
    assert study.packets(0) is None
    assert study.packets(1) == 4 * 6 + 4 * 7
    with pytest.raises(UsageError, match="say how many"):
        study.rows([0], "packets")


def test_the_parallel_optimum_lies_where_map_and_shuffle_meet_for_any_multicast():
    study = Study(9, Machine(Costs.parse("1,3,0"), multicast=(1, 1, Fraction(3, 2))), "parallel")
    best = study.best()
    assert best.denominator > 1
    (row,) = study.rows([best])
    assert row.coded_times.map == pytest.approx(row.coded_times.shuffle)
    assert study.rows([best - Fraction(1, 9)])[0].coded_times.total > row.coded_times.total
    assert study.rows([best + Fraction(1, 9)])[0].coded_times.total > row.coded_times.total


def test_theorem_2_at_a_thousand_partitions():
    row = best_row(1000, "1,1,1", "parallel")
    optimum = allocation.parallel(1000, Costs.parse("1,1,1"))
    assert (row.r, row.coded.ranks) == (optimum.r_star, optimum.k_star)
    assert row.coded_times.total == pytest.approx(float(optimum.t_star), rel=1e-12)


def test_an_exponent_is_the_slope_of_a_power():
    assert exponent([(x, 7 * x**-0.75) for x in (2, 3, 10, 50)]) == pytest.approx(-0.75)
