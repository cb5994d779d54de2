"""Mean latency of y = A x under each allocation rule: `python -m benchmarks.linear_allocation`.

Workers in two groups are slowed down by seeded shifted exponential delays, scaled so that the machine's own
arithmetic hardly counts; every rule sees the same draws in the same run. "formula" is the mean time of the
model, "drawn" what these delays alone add up to: measured / drawn is the cost of messages and decoding. Then
the groups are fitted from the runtimes that were measured. Last, what coding costs when nobody is slow,
beside numpy alone on one core. Starts MPI itself; takes about a minute.
"""

from __future__ import annotations

import os
import sys
import time
import uuid
from collections.abc import Callable
from statistics import mean
from typing import TYPE_CHECKING

from coded_mr.launch import find_mpirun, run_world
from coded_mr.linear.allocation_rules import Allocation, Rule, parse_rule
from coded_mr.linear.delays import Delays, completion
from coded_mr.theory.load_allocation import Group
from coded_mr.theory.runtime_fit import fit, unit_times

if TYPE_CHECKING:
    from coded_mr.linear.real_product import CodedMatrix, Product

_GROUPS = (Group(3, 4.0, 0.2), Group(5, 1.0, 0.5))
_RULES = ("optimal", "best", "uniform:0.75", "uniform:0.5", "uncoded", "replication:2")
_ROWS, _COLUMNS = 120, 30
_REPETITIONS = 60
_SECONDS = 38.0
_LARGE, _ROUNDS = (2048, 2048), 8


def main(words: list[str]) -> int:
    """Start the world, or be one of its ranks."""
    if words[:1] == ["--rank"]:
        _measure()
        _overhead()
        return 0
    mpirun = find_mpirun(os.environ)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    print(f"{mpirun.flavour} {mpirun.version}", flush=True)
    command = [sys.executable, "-m", "benchmarks.linear_allocation", "--rank"]
    ranks = 1 + sum(group.N for group in _GROUPS)
    return run_world(mpirun, ranks, command, job_id=uuid.uuid4().hex, finished=lambda: True)


def _measure() -> None:
    import numpy as np
    from mpi4py import MPI

    from coded_mr.engine.waiting import broadcast
    from coded_mr.linear.real_product import CodedMatrix

    world = MPI.COMM_WORLD
    A = np.random.default_rng(0).standard_normal((_ROWS, _COLUMNS))
    allocations = broadcast(world, None if world.rank else _allocations)
    formulas = {name: found.mean_time(_GROUPS) for name, found in allocations.items()}
    scale = _SECONDS / _REPETITIONS / sum(formulas.values())
    delays = Delays(_GROUPS, scale, seed=1, strata=_REPETITIONS)
    if world.rank == 0:
        print(f"{'rule':14}{'n':>5}{'formula':>10}{'drawn':>10}{'measured':>10}{'/formula':>10}{'/drawn':>8}")
    for name, allocation in allocations.items():
        rule: Rule = lambda workers, k, found=allocation: found  # type: ignore[misc]  # noqa: E731
        options = {"rule": rule, "height": 1, "delay": delays}
        products = CodedMatrix(A, **options).lead(lambda matrix: _products(matrix, A))
        if products is not None:
            _print(allocation, scale * formulas[name], delays, products)
            if name == "uncoded":
                _print_fit(allocation, scale, products)


def _overhead() -> None:
    """Print the time of a larger product by numpy, by plain rows and by coded rows, without delays."""
    import numpy as np
    from mpi4py import MPI

    from coded_mr.engine.waiting import barrier
    from coded_mr.linear.real_product import CodedMatrix

    random = np.random.default_rng(0)
    A, x = random.standard_normal(_LARGE), random.standard_normal((_LARGE[1], 64))
    if MPI.COMM_WORLD.rank == 0:
        alone = min(_seconds(lambda: A @ x)) * 1e3
        print(f"numpy alone on a core, {_LARGE} times {x.shape}: {alone:.1f} ms", flush=True)
    barrier(MPI.COMM_WORLD)
    for name in ("uncoded", "tolerant:1", "tolerant:2"):

        def work(matrix: CodedMatrix) -> list[Product]:
            return [matrix.product(x) for _ in range(_ROUNDS)]

        products = CodedMatrix(A, rule=parse_rule(name)).lead(work)
        if products is not None:
            best = min(products, key=lambda found: found.seconds)
            print(
                f"{name:11} {best.seconds * 1e3:6.1f} ms, {best.collected.missing} pieces of 256 decoded, "
                f"off by {np.abs(best.y - A @ x).max():.1e}",
                flush=True,
            )


def _seconds(call: Callable[[], object]) -> list[float]:
    times = []
    for _ in range(_ROUNDS):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return times


def _allocations() -> dict[str, Allocation]:
    workers = sum(group.N for group in _GROUPS)
    return {name: parse_rule(name, _GROUPS)(workers, _ROWS) for name in _RULES}


def _products(matrix: CodedMatrix, A: object) -> list[Product]:
    """Return so many products, each checked."""
    import numpy as np

    random, products = np.random.default_rng(1), []
    for _ in range(_REPETITIONS):
        x = random.standard_normal(_COLUMNS)
        found = matrix.product(x)
        assert np.abs(found.y - A @ x).max() <= found.collected.bound
        products.append(found)
    return products


def _print(allocation: Allocation, formula: float, delays: Delays, products: list[Product]) -> None:
    drawn = mean(completion(allocation, delays, number) for number in range(_REPETITIONS))
    measured = mean(found.seconds for found in products)
    times = f"{formula * 1e3:8.1f}ms{drawn * 1e3:8.1f}ms{measured * 1e3:8.1f}ms"
    print(
        f"{allocation.name:14}{allocation.n:5}{times}{measured / formula:10.3f}{measured / drawn:8.3f}",
        flush=True,
    )


def _print_fit(allocation: Allocation, scale: float, products: list[Product]) -> None:
    """Fit the groups from the runtimes of all workers, which uncoded rows make all known."""
    first = 0
    for group in _GROUPS:
        members = range(first, first + group.N)
        first += group.N
        times = [one.times[worker] / scale for one in products for worker in members]
        rows = [float(allocation.loads[worker]) for _ in products for worker in members]
        found = fit(unit_times(times, rows, allocation.k))
        print(
            f"  fitted from {found.samples} runtimes: mu {found.mu:.2f} (given {group.mu:g}), "
            f"alpha {found.alpha:.3f} (given {group.alpha:g}), distance {found.distance:.3f}",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
