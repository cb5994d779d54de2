"""Machines of unequal speed that come and go: `python -m benchmarks.linear_elastic`.

Heterogeneous shares beside cyclic ones (all taken for equal) and plain blocks without a code, on one trace
and with the same slowed machines; "formula" is the time for the true speeds, which the run has to learn.
Then, while machines are away in most steps: the PageRank of the modules of Python's own standard library, and
a linear regression. Starts MPI itself; takes under a minute.
"""

from __future__ import annotations

import os
import sys
import uuid
from fractions import Fraction
from statistics import mean
from typing import TYPE_CHECKING

from coded_mr.errors import PlanError
from coded_mr.launch import find_mpirun, run_world
from coded_mr.linear.delays import Fixed
from coded_mr.linear.traces import random_trace

if TYPE_CHECKING:
    from coded_mr.linear.elastic_run import ElasticMatrix
    from coded_mr.linear.elastic_steps import ElasticSettings, Policy

_SPEEDS = (1, 1, 2, 3, 5, 8)  # of machines 1..6
_L = 3
_BLOCK_SECONDS = 0.4  # of a machine of speed 1
_STEPS = 30
_AWAY = 0.2


def main(words: list[str]) -> int:
    """Start the world, or be one of its ranks."""
    if words[:1] == ["--rank"]:
        for policy in ("heterogeneous", "cyclic", "uncoded"):
            _compare(policy)
        _pagerank()
        _regression()
        return 0
    mpirun = find_mpirun(os.environ)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    print(f"{mpirun.flavour} {mpirun.version}", flush=True)
    print(f"{'policy':14}{'formula':>10}{'measured':>10}{'/formula':>10}{'feasible':>14}", flush=True)
    command = [sys.executable, "-m", "benchmarks.linear_elastic", "--rank"]
    return run_world(mpirun, 1 + len(_SPEEDS), command, job_id=uuid.uuid4().hex, finished=lambda: True)


def _compare(policy: Policy) -> None:
    """Run the trace, and print the mean time of the steps that the policy could do."""
    import numpy as np

    from coded_mr.linear.elastic_run import ElasticMatrix
    from coded_mr.linear.elastic_steps import Blocks, ElasticSettings

    X = np.random.default_rng(0).standard_normal((1800, 20))
    blocks = Blocks(X, len(_SPEEDS), _L, policy)
    trace = random_trace(len(_SPEEDS), _AWAY, seed=2)
    delay = Fixed(tuple(_BLOCK_SECONDS / speed for speed in _SPEEDS))

    def work(matrix: ElasticMatrix) -> None:
        seconds, formula = [], []
        for number in range(_STEPS):
            here, w = list(trace(number)), np.random.default_rng(number).standard_normal(20)
            try:
                step = matrix.step(w, here)
            except PlanError:
                continue
            assert np.abs(step.y - X @ w).max() <= step.bound
            true = {machine: Fraction(_SPEEDS[machine - 1]) for machine in here}
            seconds.append(step.seconds)
            formula.append(float(blocks.work(true).c) * _BLOCK_SECONDS)
        print(
            f"{policy:14}{mean(formula) * 1e3:8.1f}ms{mean(seconds) * 1e3:8.1f}ms"
            f"{mean(seconds) / mean(formula):10.3f}{len(seconds):8} of {_STEPS}",
            flush=True,
        )

    ElasticMatrix(X, ElasticSettings(_L, policy=policy), delay=delay).lead(work)


def _pagerank() -> None:
    """Rank the modules of the standard library."""
    import numpy as np
    from mpi4py import MPI

    from coded_mr.linear.applications import pagerank
    from coded_mr.linear.elastic_run import ElasticMatrix
    from coded_mr.linear.import_graph import link_matrix, standard_library

    graph = standard_library() if MPI.COMM_WORLD.rank == 0 else {}
    M = link_matrix(graph)

    def work(matrix: ElasticMatrix) -> None:
        dangling = M.sum(axis=0) == 0
        found, plain = pagerank(matrix.product, dangling), pagerank(lambda x: M @ x, dangling)
        names = list(graph)
        first = ", ".join(f"{names[at]} {found.value[at]:.4f}" for at in np.argsort(-found.value)[:5])
        print(
            f"PageRank of {len(names)} modules, {sum(map(len, graph.values()))} imports: {found.steps} steps,"
            f" {matrix.skipped} skipped; {first}; off by {np.abs(found.value - plain.value).max():.1e}",
            flush=True,
        )

    ElasticMatrix(M, _preempted()).lead(work)


def _regression() -> None:
    """Fit a line through many points, with X and its transpose on the machines."""
    import numpy as np

    from coded_mr.linear.applications import linear_regression
    from coded_mr.linear.elastic_run import ElasticMatrix

    random = np.random.default_rng(0)
    X = random.standard_normal((3000, 20))
    y = X @ random.standard_normal(20) + random.standard_normal(3000)

    def work(matrix: ElasticMatrix) -> None:
        found = linear_regression(matrix.product, lambda r: matrix.product(r, 1), y)
        direct = np.linalg.lstsq(X, y, rcond=None)[0]
        print(
            f"regression of {X.shape}: {found.steps} steps of gradient descent, {matrix.skipped} skipped; "
            f"off least squares by {np.abs(found.value - direct).max():.1e}",
            flush=True,
        )

    ElasticMatrix([X, X.T], _preempted()).lead(work)


def _preempted() -> ElasticSettings:
    from coded_mr.linear.elastic_steps import ElasticSettings

    return ElasticSettings(_L, trace=random_trace(len(_SPEEDS), _AWAY, seed=3), on_infeasible="skip")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
