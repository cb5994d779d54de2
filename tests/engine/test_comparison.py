"""Which plans a comparison carries out, and what it makes of their reports."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from coded_mr.engine.comparison import Question, Wish, check_same, line_up, times_of
from coded_mr.engine.timeline import Stage
from coded_mr.errors import ConservationError, PlanError
from coded_mr.io.output import PartFile
from coded_mr.plan.machine import Machine
from coded_mr.plan.planner import Request, decide
from coded_mr.theory.costs import Costs

MACHINE = Machine(Costs.parse("1,2,1"))


def chosen(request: Request, *schemes: str | Wish, loads: tuple[int, ...] | None = None):
    wishes = tuple(Wish(scheme) if isinstance(scheme, str) else scheme for scheme in schemes)
    found = line_up(request, (MACHINE,), Question(wishes, loads))
    return found, [(d.chosen.scheme, d.chosen.r) for d in found.decisions]


def test_every_pair_that_the_ranks_allow_is_a_plan():
    found, plans = chosen(Request(3, 5), "solver-helper", "replicated")
    assert plans == [("solver-helper", r) for r in range(4)] + [("replicated", 1), ("replicated", 2)]
    assert found.impossible == ("replicated r=0, 3",)
    assert plans[found.choice] == ("solver-helper", 2)


def test_a_plan_is_the_one_that_run_would_carry_out():
    found, _ = chosen(Request(4, 6), "solver-helper", loads=(1,))
    assert found.decisions[0].chosen == decide(Request(4, 6, r=1, scheme="solver-helper"), MACHINE).chosen


def test_a_load_is_never_replaced_by_a_near_one():
    found, plans = chosen(Request(4, 4), "symmetric", "resolvable", loads=(2, 3, 9))
    assert plans[:3] == [("symmetric", 2), ("symmetric", 3), ("resolvable", 2)]
    assert found.impossible == ("symmetric r=9", "resolvable r=3, 9")


def test_uncoded_is_what_everybody_does_and_what_the_planner_likes():
    slow_link = Machine(Costs.parse("1,100,1"))
    found = line_up(Request(3, 5), (slow_link,), Question((Wish("uncoded"),), (2,)))
    assert [(d.chosen.scheme, d.chosen.solvers, d.chosen.r) for d in found.decisions[:2]] == [
        ("uncoded", 3, 1),
        ("uncoded", 1, 1),
    ]
    assert found.impossible == ()


def test_the_planners_choice_takes_part_unasked():
    found, plans = chosen(Request(3, 5), "uncoded", loads=(0,))
    assert plans == [("uncoded", 1), ("solver-helper", 2)]
    assert found.choice == 1


def test_the_choice_is_free_of_the_helpers_asked_for():
    found, plans = chosen(Request(3, 5, helpers=1), "solver-helper", loads=(1,))
    assert [d.chosen.helpers for d in found.decisions] == [1, 2]
    assert plans[found.choice] == ("solver-helper", 2)


def test_one_plan_under_two_names_is_carried_out_once():
    found, plans = chosen(Request(3, 3), "symmetric", "replicated", "uncoded", loads=(1,))
    assert plans[0] == ("uncoded", 1)
    assert ("symmetric", 1) not in plans
    assert found.same == (
        "symmetric r=1 (3+0) is uncoded r=1 (3+0)",
        "replicated r=1 (3+0) is uncoded r=1 (3+0)",
    )


def test_cascaded_reduces_at_as_many_solvers_as_asked():
    found, plans = chosen(Request(6, 4), Wish("cascaded", 2), loads=(2,))
    assert plans[0] == ("cascaded", 2)
    assert found.decisions[0].chosen.team.s == 2


def test_the_implementation_is_that_of_the_request():
    found, _ = chosen(Request(3, 5, implementation="parallel"), "uncoded", "solver-helper")
    assert {d.request.implementation for d in found.decisions} == {"parallel"}
    assert {d.chosen.implementation for d in found.decisions} == {"parallel"}


def test_nothing_possible_is_an_error_that_names_all():
    with pytest.raises(PlanError, match="allow none of resolvable r=0, 1; symmetric r=0, 1"):
        chosen(Request(1, 1), "resolvable", "symmetric", loads=None)
    with pytest.raises(PlanError, match="5 ranks and 3 partitions allow none of resolvable r=2"):
        chosen(Request(3, 5), "resolvable", loads=(2,))


def test_outputs_that_differ_name_the_plans_and_the_parts():
    same, other = PartFile("part-00000", 5, 7), PartFile("part-00001", 6, 8)
    check_same("A", [same, other], "B", [same, other])
    with pytest.raises(ConservationError, match="A and B differ in part-00001"):
        check_same("A", [same, other], "B", [same, PartFile("part-00001", 6, 9)])
    with pytest.raises(ConservationError, match="differ in part-00001"):
        check_same("A", [same, other], "B", [same])


def test_the_total_runs_from_the_first_map_to_the_last_reduce():
    solver = SimpleNamespace(stages=[Stage("map", 10, 12), Stage("shuffle", 13, 14), Stage("reduce", 15, 19)])
    helper = SimpleNamespace(stages=[Stage("map", 1, 5), Stage("shuffle", 5, 8), Stage("reduce", 8, 8)])
    spare = SimpleNamespace(stages=[])
    slowest = {"map": 4, "shuffle": 3, "reduce": 4}
    report = SimpleNamespace(ranks=(solver, helper, spare), slowest=slowest.__getitem__)
    assert times_of(report) == (4, 3, 4, 9)
