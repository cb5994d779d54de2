"""Real jobs on an emulated fat tree: every line carries what was computed for it, wherever the parts are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.cluster import Cluster, fat_tree
from benchmarks.cluster.tree_jobs import LEVELS, Inputs, Trial, level_of, switch_tree
from coded_mr.plan.schemes import solver_helper
from coded_mr.topology import Line
from tests.mpi.interpreters import Mpi


@pytest.mark.parametrize("t", [2, 4])
def test_the_tree_is_that_of_the_emulated_cables(t: int) -> None:
    layout, tree = fat_tree(t), switch_tree(t)
    assert tree.hosts == tuple(name for name in layout.addresses if name != "head")
    for cable in layout.cables:
        if cable.a[0] == "e":
            assert tree.above[cable.a] == f"pod{cable.b[1:].partition('-')[0]}"
        if cable.a in tree.hosts:
            assert tree.above[cable.a] == cable.b
    assert [
        level_of(Line(*line)) for line in zip(tree.climb("h0"), tree.climb("h0")[1:], strict=False)
    ] == list(LEVELS)


def test_every_line_carries_what_was_computed(
    emulated: Callable[..., Cluster], mpi: Mpi, tmp_path: Path
) -> None:
    """With parts that move, spare ranks, and packets that are relayed from host to host."""
    trial = Trial(emulated(fat_tree(4)), switch_tree(4), mpi.launcher, tmp_path, mpi.python)
    options = ["-p", "6", "-r", "2", "--helpers", "3", "--scheme", "solver-helper", "--costs", "1,1,1"]
    found = trial.loads(solver_helper(6, 6, 2, 3), options, "relay", Inputs.make(tmp_path, 200_000))
    assert {level_of(line) for line, load in found.computed.items() if load} == set(LEVELS)
    assert found.deviation < 0.05
