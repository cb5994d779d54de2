"""Designs simulated from their loads: the theorems exactly, and agreement with single packets."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import UsageError
from coded_mr.plan import verify
from coded_mr.simulate import Machine, Noise, Slowest, coded_design, predict, simulate, uncoded_design
from coded_mr.theory.allocation import uncoded_parallel, uncoded_sequential
from coded_mr.theory.costs import Costs


@pytest.mark.parametrize("implementation", ["sequential", "parallel"])
def test_the_theorems_hold_exactly(golden, implementation):
    for row in golden("allocation")[implementation]:
        machine = Machine(Costs.parse(f"{row['c_m']},{row['c_s']},{row['c_r']}"))
        design = coded_design(row["Q"], Fraction(row["r_star"]), implementation)
        assert design.ranks == row["K_star"]
        assert predict(design, machine, implementation).total == Fraction(row["T_star"])


@given(
    Q=st.integers(2, 6),
    costs=st.tuples(*[st.integers(1, 9)] * 3),
    beta=st.lists(st.fractions(1, 3, max_denominator=4), max_size=3),
    overhead=st.fractions(0, 1, max_denominator=9),
    coefficient=st.sampled_from([0.0, 0.4]),
    data=st.data(),
)
def test_sequential_times_are_those_of_single_packets(Q, costs, beta, overhead, coefficient, data):
    machine = Machine(
        Costs(*map(Fraction, costs)),
        multicast=(Fraction(1), *beta),
        overhead=overhead,
        noise=Noise("lognormal", coefficient, seed=Q),
        speeds=(Fraction(1, 2), Fraction(2)),
    )
    helpers = data.draw(st.integers(1, 4))
    design = data.draw(
        st.sampled_from(
            [
                *(coded_design(Q, r, helpers=helpers) for r in range(Q + 1)),
                uncoded_design(Q, helpers, Fraction(1, Q + helpers)),
                uncoded_design(Q, 0, Fraction(1, Q)),
                uncoded_design(Q, 0, Fraction(1)),
            ]
        )
    )
    trace = simulate(design.build(), machine, "sequential", repetition=2)
    times = predict(design, machine, "sequential", Slowest(machine, Q, repetition=2))
    assert times.total == trace.total
    assert times.map == max(interval.end for interval in trace.map if interval)


@given(
    Q=st.integers(2, 5),
    costs=st.tuples(*[st.integers(1, 9)] * 3),
    helpers=st.integers(1, 4),
    network=st.sampled_from(["shared", "ports"]),
    coefficient=st.sampled_from([0.0, 0.4]),
    data=st.data(),
)
def test_single_packets_never_beat_endlessly_small_ones(Q, costs, helpers, network, coefficient, data):
    r = data.draw(st.fractions(0, Q, max_denominator=3))
    machine = Machine(
        Costs(*map(Fraction, costs)), network, multicast="linear", noise=Noise("exponential", coefficient)
    )
    for design in (
        coded_design(Q, r, "parallel", helpers),
        uncoded_design(Q, helpers, max(r / Q, Fraction(1, Q + helpers))),
    ):
        for implementation in ("sequential", "parallel"):
            least = predict(design, machine, implementation).total
            assert least <= simulate(design.build(), machine, implementation).total


@given(Q=st.integers(1, 6), helpers=st.integers(1, 5), data=st.data())
def test_a_design_says_what_its_plan_does(Q, helpers, data):
    r = data.draw(st.fractions(0, Q, max_denominator=4))
    peak = data.draw(st.fractions(Fraction(1, Q + helpers), 1, max_denominator=20))
    for design in (coded_design(Q, r, "parallel", helpers), uncoded_design(Q, helpers, peak)):
        plan = design.build()
        loads = verify(plan)
        assert loads.traffic == tuple(sorted(design.traffic))
        assert loads.load == sum(load for _, load in design.traffic)
        assert loads.peak == max(design.solver_share, design.helper_share)
        assert len(plan.packets) == design.count
        assert plan.ranks == design.ranks or design.sent == 0


@pytest.mark.parametrize("costs", ["1,2,1", "2,1,1", "3,3,0", "1,7,2"])
def test_the_uncoded_optima_are_among_the_uncoded_designs(costs):
    machine = Machine(Costs.parse(costs))
    Q = 6
    optimum = uncoded_parallel(Q, machine.costs)
    design = uncoded_design(Q, optimum.k - Q, optimum.peak)
    assert predict(design, machine, "parallel").total == optimum.t
    ends = [predict(uncoded_design(Q, None, Fraction(p)), machine, "sequential").total for p in (0, 1)]
    assert min(ends) == uncoded_sequential(Q, machine.costs).t


def test_ports_wait_for_the_busiest_port():
    # 6 solvers receive (1 - r/Q) / Q each; one helper sends f(r), many send little each.
    machine = Machine(Costs.parse("1,1,0"), "ports")
    shuffle = {h: predict(coded_design(6, 2, helpers=h), machine, "sequential").shuffle for h in (1, 50)}
    assert shuffle == {1: Fraction(4, 18), 50: Fraction(1, 9)}


def test_endless_helpers_are_a_limit_and_no_plan():
    design = coded_design(3, 0)
    assert design.ranks is None
    assert predict(design, Machine(Costs.parse("9,1,1")), "sequential") == (0, 1, 1, 2)
    with pytest.raises(UsageError, match="say how many"):
        design.build()
    with pytest.raises(UsageError, match="endless helpers"):
        predict(design, Machine(Costs.parse("9,1,1"), overhead=Fraction(1)), "sequential")


def test_numbers_out_of_range_are_refused():
    with pytest.raises(UsageError, match="between 0 and Q"):
        coded_design(3, 4)
    with pytest.raises(UsageError, match="whole number"):
        coded_design(3, HALF := Fraction(1, 2), "sequential")
    assert coded_design(3, HALF, "parallel").parts == ((1, HALF), (0, HALF))
    with pytest.raises(UsageError, match="needs a helper"):
        coded_design(3, 1, helpers=0)
    with pytest.raises(UsageError, match="cannot map"):
        uncoded_design(3, 1, Fraction(1, 5))
    with pytest.raises(UsageError, match="too many packets"):
        predict(coded_design(1000, 500), Machine(Costs.parse("1,1,1"), overhead=Fraction(1)), "sequential")
    noisy = Machine(Costs(Fraction(10**9), Fraction(1), Fraction(1)), noise=Noise("lognormal", 0.1))
    with pytest.raises(UsageError, match="can be drawn"):
        predict(coded_design(3, Fraction(1, 10**9), "parallel"), noisy, "parallel")
