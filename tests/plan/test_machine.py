"""What the planner knows of a machine beside the paper's costs."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.plan.machine import Crew, Machine
from coded_mr.plan.offers import Scheme
from coded_mr.plan.planner import Request, decide
from coded_mr.theory.costs import Costs

COSTS = Costs.parse("12,6,3")
HALF = Fraction(1, 2)


def test_the_papers_machine_has_no_limits_but_its_costs() -> None:
    machine = Machine(COSTS)
    assert machine.c_s(5, range(2), range(3)) == 6
    assert machine.mapping(5, Crew(3, HALF), Crew(2, Fraction(1, 4))) == 6
    assert machine.reducing(Crew(1, Fraction(2)), Crew(2, Fraction(1))) == 6
    assert machine.grown(100) == 1


def test_a_switch_is_limited_by_its_busiest_port() -> None:
    """Eight ports: all together send eight times what one can."""
    switch = Machine(COSTS, beta=(Fraction(1),), alone=(Fraction(8),))
    assert switch.c_s(1, range(8), range(8)) == 6
    assert switch.c_s(1, range(2), range(2)) == 6 * 4
    # One sends to four, each of which receives a quarter.
    assert switch.c_s(1, range(4, 5), range(4)) == 6 * 8
    # Each of four receives three quarters of what two send.
    assert switch.c_s(3, range(4, 6), range(4)) == 6 * 8 * Fraction(3, 4)


def test_a_bus_is_as_fast_for_one_as_for_all() -> None:
    bus = Machine(COSTS, beta=(Fraction(1),), alone=(Fraction(1),))
    assert {bus.c_s(j, range(n), range(8)) for j in (1, 4, 8) for n in (1, 3, 8)} == {6}


def test_ranks_on_a_host_share_its_port() -> None:
    switch = Machine(COSTS, beta=(Fraction(1),), alone=(Fraction(4),), hosts=(0, 0, 0, 1, 2, 3))
    assert switch.c_s(1, range(3), range(2, 6)) == 6 * 4
    assert switch.c_s(1, range(2, 6), range(2, 6)) == 6
    assert switch.c_s(1, range(4), range(2, 6)) == 6 * 3


def test_those_with_less_work_disturb_the_others_no_longer() -> None:
    two = ((1, Fraction(1)), (2, Fraction(2)), (8, Fraction(2)))
    machine = Machine(COSTS, map_slots=two)
    # Four ranks as fast as two until the quarter is done; then two undisturbed.
    assert machine.mapping(5, Crew(2, HALF), Crew(2, Fraction(1, 4))) == 12 * (HALF + Fraction(1, 4))
    assert machine.mapping(5, Crew(2, HALF), Crew(2, Fraction(0))) == 6
    assert machine.mapping(5, Crew(2, HALF), Crew(0, Fraction(9))) == 6
    assert machine.mapping(1) == 0


def test_slots_between_those_measured_rise_until_they_are_those_of_more_ranks() -> None:
    machine = Machine(COSTS, reduce_slots=((1, Fraction(1)), (2, Fraction(2)), (6, Fraction(4))))
    times = [machine.reducing(Crew(ranks, Fraction(1))) for ranks in (1, 2, 3, 4, 5, 6, 12)]
    assert times == [3, 3, 3, 3, Fraction(15, 4), Fraction(9, 2), 9]


@given(st.lists(st.tuples(st.integers(1, 9), st.fractions(0, 1)), max_size=3), st.integers(1, 4))
def test_work_takes_as_long_as_the_longest_and_as_all_of_it(
    crews: list[tuple[int, Fraction]], slots: int
) -> None:
    measured = ((1, Fraction(1)), *(((slots, Fraction(slots)),) if slots > 1 else ()))
    work = [Crew(*crew) for crew in crews]
    time = Machine(COSTS, map_slots=measured).mapping(1, *work) / 12
    assert time >= max((crew.work for crew in work), default=0)
    assert time >= sum(crew.ranks * crew.work for crew in work) / slots
    assert time <= sum(crew.ranks * crew.work for crew in work)


@pytest.mark.parametrize(
    "scheme", ["uncoded", "solver-helper", "symmetric", "replicated", "resolvable", "mixture"]
)
@pytest.mark.parametrize("implementation", ["sequential", "parallel"])
def test_a_candidate_knows_its_batches(scheme: Scheme, implementation: str) -> None:
    request = Request(4, 7, scheme=scheme, implementation=implementation)  # type: ignore[arg-type]
    for candidate in decide(request, COSTS).considered:
        assert candidate.batches == len(candidate.build().batches), str(candidate)


def test_values_that_combine_are_fewer_in_fewer_batches() -> None:
    plain, combining = (
        decide(Request(4, 6, scheme="symmetric", r=2), Machine(COSTS, growth=growth, batches=24)).chosen
        for growth in (0.0, 0.5)
    )
    assert combining.batches == 6
    assert combining.t_map == plain.t_map
    assert combining.t_shuffle == plain.t_shuffle * HALF
    assert combining.t_reduce == plain.t_reduce * HALF


def test_large_batches_may_take_longer_to_map() -> None:
    machine = Machine(COSTS, map_growth=0.5, batches=24)
    assert machine.mapping(24, Crew(2, HALF)) == 6
    assert machine.mapping(6, Crew(2, HALF)) == 12
    assert machine.mapping(96, Crew(2, HALF)) == 3


def test_groups_are_set_up_while_there_is_something_to_map() -> None:
    request = Request(4, 6, scheme="symmetric", r=2)
    ideal = decide(request, COSTS).chosen
    assert ideal.t_map == 6
    for group, beyond in ((Fraction(1), 0), (Fraction(2), 6)):
        chosen = decide(request, Machine(COSTS, group=group)).chosen
        assert chosen.t_shuffle == ideal.t_shuffle + beyond
