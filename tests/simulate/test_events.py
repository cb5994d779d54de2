"""Plans simulated packet by packet: hand-made cases, and the theorems' times."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from coded_mr.errors import UsageError
from coded_mr.plan import Batch, Packet, Plan, verify
from coded_mr.plan.order import map_order
from coded_mr.plan.schemes import (
    cascaded,
    parallel,
    replicated,
    resolvable,
    solver_helper,
    symmetric,
    uncoded,
)
from coded_mr.simulate import Interval, Machine, Noise, coded_design, predict, simulate
from coded_mr.simulate.work import map_ends, measure
from coded_mr.theory import allocation
from coded_mr.theory.costs import Costs

HALF = Fraction(1, 2)


def sliced(plan: Plan, slices: int) -> Plan:
    """Return the plan carried out slice by slice of the files."""
    count = len(plan.batches)
    return Plan(
        plan.scheme,
        plan.partitions,
        plan.reduces,
        tuple(Batch(mappers, share / slices) for _ in range(slices) for mappers, share in plan.batches),
        tuple(
            Packet(sender, receivers, tuple(t._replace(batch=t.batch + s * count) for t in terms), rows)
            for s in range(slices)
            for sender, receivers, terms, rows in plan.packets
        ),
    )


@pytest.mark.parametrize(
    ("implementation", "network", "starts", "total"),
    [
        ("sequential", "shared", (2, 2), 3),
        ("sequential", "ports", (HALF * 3, HALF * 3), HALF * 5),
        ("parallel", "shared", (2, HALF * 3), 3),
        ("parallel", "ports", (HALF * 3, HALF * 3), HALF * 5),
    ],
)
def test_two_ranks_exchange_one_value_each(implementation, network, starts, total):
    # Each maps half in 1 s; a packet is a quarter of QNT and takes half a second; a reduce takes 1 s.
    trace = simulate(uncoded(2, 2), Machine(Costs.parse("2,2,1"), network), implementation)
    assert trace.map == (Interval(0, 1), Interval(0, 1))
    assert trace.reduce == tuple(Interval(start, start + 1) for start in starts)
    assert trace.total == total
    assert (trace.coded, trace.wire, trace.utilisation) == (HALF, HALF, 1)


def test_in_parallel_a_packet_leaves_before_the_slowest_map_ends():
    machine = Machine(Costs.parse("2,2,1"), speeds=(1, HALF))
    trace = simulate(uncoded(2, 2), machine, "parallel")
    assert trace.map[1] == Interval(0, 2)
    assert trace.shuffle[0] == trace.shuffle[1] == Interval(1, Fraction(5, 2))
    assert trace.utilisation == Fraction(2, 3)
    # Rank 1 has its packet at 1.5 s and decodes it when its own map is done.
    assert trace.reduce == (Interval(Fraction(5, 2), Fraction(7, 2)), Interval(2, 3))
    assert simulate(uncoded(2, 2), machine, "sequential").total == 4


def test_a_multicast_through_ports_reaches_its_receivers_one_after_the_other():
    # One packet of a quarter of QNT, a second a copy, to ranks 0 and 1 from rank 2, which maps everything.
    machine = Machine(Costs.parse("1,4,0"), "ports", multicast=(1, Fraction(3, 2)))
    trace = simulate(solver_helper(2, 2, 1, 1), machine)
    assert trace.shuffle == (
        Interval(1, 2),
        Interval(Fraction(3, 2), Fraction(5, 2)),
        Interval(1, Fraction(5, 2)),
    )
    assert trace.total == Fraction(5, 2)
    assert (trace.coded, trace.wire) == (Fraction(1, 4), Fraction(3, 8))


def test_two_senders_share_the_port_of_their_receiver():
    machine = Machine(Costs.parse("3,3,1"), "ports")
    trace = simulate(uncoded(1, 1, 2), machine)
    assert trace.shuffle == (Interval(1, 3), Interval(1, 2), Interval(1, 2))
    assert trace.reduce == (Interval(3, 4), None, None)
    assert trace.utilisation == 1


def test_the_link_takes_the_first_ready_packet_of_the_schedule():
    # Rank 2 needs 3 s to map; the packets of rank 1, later in the schedule, go before its own.
    machine = Machine(Costs.parse("3,3,1"), speeds=(1, 1, Fraction(1, 3)))
    plan = uncoded(1, 1, 2)
    swapped = Plan(plan.scheme, 1, plan.reduces, plan.batches, tuple(sorted(plan.packets, reverse=True)))
    assert [packet.sender for packet in swapped.packets] == [2, 1]
    trace = simulate(swapped, machine, "parallel")
    assert (trace.shuffle[1], trace.shuffle[2]) == (Interval(1, 2), Interval(3, 4))


def test_every_packet_pays_the_overhead():
    plan = solver_helper(4, 4, 1, 2)
    plain, dear = (
        simulate(plan, Machine(Costs.parse("1,2,1"), multicast="linear", overhead=overhead)).total
        for overhead in (Fraction(0), Fraction(1, 100))
    )
    assert dear - plain == Fraction(2 * len(plan.packets), 100)


def test_nothing_travels_when_every_solver_maps_everything():
    trace = simulate(solver_helper(3, 3, 3, 0), Machine(Costs.parse("1,2,1")))
    assert (trace.total, trace.utilisation, trace.coded) == (2, 0, 0)
    assert trace.shuffle == (None, None, None)


@pytest.mark.parametrize(
    "plan",
    [
        solver_helper(5, 5, 2, 3),
        symmetric(5, 5, 2),
        replicated(6, 6, 3),
        uncoded(4, 3, 2),
        parallel(4, None, Costs.parse("2,3,1")),
    ],
    ids=lambda plan: plan.scheme,
)
def test_every_rank_maps_in_the_order_of_first_need(plan):
    ends = map_ends(plan, measure(plan, Machine(Costs.parse("1,1,1"))))
    for rank in range(plan.ranks):
        assert tuple(ends[rank]) == map_order(plan, rank)
        assert list(ends[rank].values()) == sorted(ends[rank].values())


@pytest.mark.parametrize(
    "plan",
    [
        solver_helper(7, 5, 2, 3),
        symmetric(6, 4, 2),
        uncoded(7, 4, 2),
        cascaded(12, 4, 2, 2),
        resolvable(6, 2, 3),
    ],
    ids=lambda plan: plan.scheme,
)
def test_the_loads_are_those_that_verify_computes(plan):
    machine = Machine(Costs.parse("1,2,1"), multicast="linear")
    loads = verify(plan)
    trace = simulate(plan, machine)
    assert trace.coded == loads.load
    assert trace.wire == sum(receivers * load for receivers, load in loads.traffic)
    assert trace.total == loads.peak + 2 * trace.wire + loads.most_partitions


def test_theorem_1_holds_exactly(golden):
    simulated = 0
    for row in golden("allocation")["sequential"]:
        costs = Costs.parse(f"{row['c_m']},{row['c_s']},{row['c_r']}")
        if row["Q"] > 8 or row["K_star"] is None:
            continue
        plan = solver_helper(row["Q"], row["Q"], row["r_star"], row["K_star"] - row["Q"])
        assert simulate(plan, Machine(costs)).total == Fraction(row["T_star"])
        simulated += 1
    assert simulated > 50


@pytest.mark.parametrize(
    ("Q", "costs"), [(4, "1,2,1"), (8, "1,2,1"), (6, "1,10,1"), (3, "4,1,1"), (3, "1,10,0")]
)
def test_theorem_2_is_approached_as_the_files_are_cut_finer(Q, costs):
    optimum = allocation.parallel(Q, Costs.parse(costs))
    plan = coded_design(Q, optimum.r_star, "parallel").build()
    machine = Machine(optimum.costs)
    excess = [
        simulate(sliced(plan, slices), machine, "parallel").total - optimum.t_star for slices in (1, 2, 4, 8)
    ]
    assert all(0 < finer <= coarser * Fraction(11, 20) for coarser, finer in pairwise(excess))


@pytest.mark.parametrize("network", ["shared", "ports"])
@pytest.mark.parametrize("implementation", ["sequential", "parallel"])
def test_noise_repeats_and_its_repetitions_differ(network, implementation):
    plan = solver_helper(5, 5, 2, 3)
    machine = Machine(Costs.parse("1,2,1"), network, noise=Noise("lognormal", 0.3, seed=3))
    first, again, other = (simulate(plan, machine, implementation, repetition) for repetition in (0, 0, 1))
    assert first == again
    assert first.total != other.total


@pytest.mark.parametrize("r", [1, 2, 4])
def test_ports_are_never_faster_than_the_busiest_one_and_not_much_slower(r):
    machine = Machine(Costs.parse("1,8,1"), "ports", multicast=(1, Fraction(6, 5)))
    design = coded_design(6, r)
    total, least = simulate(design.build(), machine).total, predict(design, machine, "sequential").total
    assert least <= total <= least * Fraction(5, 4)


def test_an_unknown_implementation_is_refused():
    with pytest.raises(UsageError, match="implementation"):
        simulate(uncoded(2, 2), Machine(Costs.parse("1,1,1")), "both")
