"""The rivals of every setting: named apart, and the plans that their names promise."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.network.ideal import busiest_link
from benchmarks.network.settings import SETTINGS, Rival, Setting, quick
from coded_mr.plan.schemes import replicated, solver_helper, symmetric, uncoded
from coded_mr.plan.verify import verify
from coded_mr.theory.load import communication_load

ALL = [*SETTINGS, *map(quick, SETTINGS)]


@pytest.mark.parametrize("setting", ALL, ids=lambda s: f"{s.name}-{s.size:g}")
def test_rivals_have_names_of_their_own_and_fit_the_hosts(setting: Setting) -> None:
    names = [rival.name for rival in setting.rivals]
    assert len(set(names)) == len(names)
    for rival in setting.rivals:
        if rival.scheme is not None:
            assert rival.solvers <= setting.hosts
            assert rival.solvers + rival.helpers <= 2 * setting.hosts
    uncoded_ones = [rival for rival in setting.rivals if rival.scheme == "uncoded"]
    assert sorted(rival.one_sender for rival in uncoded_ones) == [False, True]
    assert all(rival.solvers == setting.hosts for rival in uncoded_ones)


def test_settings_differ_by_name_and_title() -> None:
    assert len({setting.name for setting in SETTINGS}) == len(SETTINGS) == 8
    assert len({setting.title for setting in ALL}) == len(ALL)


@pytest.mark.parametrize(
    "rival",
    # In the same order in every process.
    dict.fromkeys(r for s in SETTINGS for r in s.rivals if r.scheme is not None),
    ids=lambda r: r.name,
)
def test_a_rival_is_the_plan_of_its_name(rival: Rival) -> None:
    plan = rival.decision().chosen.build()
    found = verify(plan)
    Q, r = rival.solvers, rival.r
    assert (len(plan.solvers), len(plan.helpers), plan.partitions) == (Q, rival.helpers, Q)
    assert found.computation_load == r
    formulas = {
        "solver-helper": communication_load(Q, Fraction(r)),
        "symmetric": Fraction(Q - r, Q * r),
        "resolvable": Fraction(Q - r, Q * max(r - 1, 1)),
        "replicated": Fraction(Q - r, Q),
        "uncoded": Fraction(Q - 1, Q),
    }
    assert found.load == formulas[str(rival.scheme)]
    # A helper maps no more than a solver, unless the hosts were counted out for it.
    assert found.helper_peak <= found.peak


@given(st.integers(2, 6), st.data())
def test_a_bus_carries_the_communication_load(hosts: int, data: st.DataObject) -> None:
    r = data.draw(st.integers(1, hosts - 1))
    for plan in (
        uncoded(hosts, hosts),
        symmetric(hosts, hosts, r),
        solver_helper(hosts, hosts, r, data.draw(st.integers(1, hosts))),
    ):
        assert busiest_link(plan, "bus", hosts) == verify(plan).load


@given(st.integers(2, 8), st.data())
def test_a_switch_carries_what_one_host_sends_or_lacks(hosts: int, data: st.DataObject) -> None:
    r = data.draw(st.integers(1, hosts - 1))
    assert busiest_link(uncoded(hosts, hosts), "switch", hosts) == Fraction(hosts - 1, hosts**2)
    lacking = Fraction(hosts - r, hosts**2)
    assert busiest_link(replicated(hosts, hosts, r), "switch", hosts) == lacking
    assert busiest_link(symmetric(hosts, hosts, r), "switch", hosts) == lacking


def test_what_stays_within_a_host_crosses_no_link() -> None:
    assert busiest_link(solver_helper(1, 1, 0, 1), "bus", 1) == 0
    assert busiest_link(solver_helper(1, 1, 0, 1), "bus", 2) == 1
