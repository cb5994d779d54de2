"""Plans that take turns on one world: their numbers are those of the formulas, and nothing stays."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from mpi4py import MPI

from coded_mr.engine.comparison import Question, Wish, compare
from coded_mr.engine.runner import Order
from coded_mr.jobfile import load_job
from coded_mr.plan.planner import Request
from coded_mr.terasort.kinds import make_records
from coded_mr.theory.costs import Costs

pytestmark = pytest.mark.mpi

SIZES = (3, 5)

TOP = Path(__file__).parents[3]
WORLD = MPI.COMM_WORLD


def run(folder: Path, question: Question, costs: str | None, implementation: str = "sequential"):
    data = folder / "data"
    if WORLD.rank == 0:
        data.write_bytes(make_records("uniform", 0, 3000).tobytes())
    WORLD.Barrier()
    found = compare(
        WORLD,
        Order(
            job=load_job(str(TOP / "jobs" / "terasort.py"))(),
            job_name="terasort",
            inputs=(str(data),),
            output=str(folder / "scratch" / "out"),
            request=Request(3, WORLD.size, implementation=implementation),
            job_id="compared",
            costs=None if costs is None else Costs.parse(costs),
        ),
        question,
    )
    if WORLD.rank:
        assert found is None
        return None
    assert found is not None
    # The parents of an output are made with it; of the output itself nothing stays.
    assert list((folder / "scratch").iterdir()) == []
    return found


@pytest.mark.parametrize("implementation", ["sequential", "parallel"])
def test_plans_take_turns_and_count_what_the_formulas_say(mpi_tmp_path: Path, implementation: str) -> None:
    wishes = tuple(map(Wish, ("solver-helper", "symmetric", "uncoded")))
    found = run(mpi_tmp_path, Question(wishes, (0, 1, 2, 3), rounds=2), "1,2,1", implementation)
    if found is None:
        return
    assert found.rounds == 2
    assert found.implementation == implementation
    for entry in found.entries:
        assert len(entry.measured) == 2
        assert entry.intermediate_bytes == 300_000
        assert entry.load >= entry.bound
        if (
            3 % entry.solvers == 0
        ):  # else one solver's bundles are longer, and the load has that padding in it
            values = entry.coded_bytes - entry.padding_bytes - entry.header_bytes
            assert values / entry.intermediate_bytes == pytest.approx(float(entry.load), rel=0.06)
        assert entry.wire_bytes >= entry.coded_bytes
    by_name = {(entry.scheme, entry.r): entry for entry in found.entries}
    symmetric = by_name["symmetric", Fraction(2)]
    assert (symmetric.load, symmetric.ratio, symmetric.groups) == (Fraction(1, 6), 1, 3)
    # In parallel the batches are cut smaller, so that packets can leave early.
    assert (symmetric.packets == 3) == (implementation == "sequential")
    assert symmetric.wire_bytes == 2 * symmetric.coded_bytes
    if WORLD.size == 5:
        assert {r for scheme, r in by_name if scheme == "solver-helper"} >= {0, 1, 2, 3}
        assert by_name["solver-helper", Fraction(2)].load == Fraction(1, 9)
        assert by_name["solver-helper", Fraction(2)].wire_bytes == 3 * (
            by_name["solver-helper", Fraction(2)].coded_bytes
        )


def test_costs_are_measured_once_when_none_are_given(mpi_tmp_path: Path) -> None:
    found = run(mpi_tmp_path, Question((Wish("uncoded"), Wish("cascaded", 2)), (2,), rounds=1), None)
    if found is not None:
        assert found.costs.map > 0
        assert {entry.s for entry in found.entries} == {1, 2}
        assert {
            sum(entry.predicted[:3]) == pytest.approx(entry.predicted.total) for entry in found.entries
        } == {True}
