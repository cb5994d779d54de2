"""Three kinds of products, one after the other, while ranks die: `survivors.py MOMENT SPARE RANK...`.

At the moment, before the matrices are stored or in one kind of product, each of these ranks kills itself. The
matrices are stored such that SPARE ranks may die. Rank 0 checks all products, and prints at the end who is
absent.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
from fractions import Fraction
from typing import NoReturn

import numpy as np
from mpi4py import MPI

from coded_mr.engine.failing import abort
from coded_mr.errors import CodedMRError
from coded_mr.linear import coded_map, elastic_run, losses, real_product, roles
from coded_mr.linear.allocation_rules import tolerant
from coded_mr.linear.codes import field
from coded_mr.linear.codes.product import multiply
from coded_mr.linear.elastic_run import ElasticMatrix
from coded_mr.linear.elastic_steps import ElasticSettings
from coded_mr.linear.exact_product import FieldMatrix
from coded_mr.linear.real_product import CodedMatrix

WORLD = MPI.COMM_WORLD
JOBS = 2


def die(*_: object, **__: object) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def deliver_and_die(*arguments: object, **options: object) -> NoReturn:
    roles_reduce(*arguments, **options)  # type: ignore[arg-type]
    die()


roles_reduce = roles.reduce_outputs
MOMENTS = {
    "places": (losses, "gather", die),
    "storing": (elastic_run, "scatter", die),
    "map": (coded_map, "multiply", die),
    "shuffle": (roles, "reduce_outputs", die),
    "delivery": (roles, "reduce_outputs", deliver_and_die),
    "matvec": (real_product, "multiply", die),
    "elastic": (elastic_run, "multiply", die),
}


def exact(matrix: FieldMatrix, A: np.ndarray, late: float) -> None:
    """Multiply twice; who is not to die is late, so that those who are do take part."""
    X = np.random.default_rng(1).integers(0, 256, (8, 6), dtype=np.uint8)
    for _ in range(JOBS):
        product = matrix.multiply(X if WORLD.rank == 0 else None, slow=late)
        if product is not None:
            assert (multiply(field(8), A, X) == product.Y).all()


def real(matrix: CodedMatrix, A: np.ndarray) -> None:
    for job in range(JOBS):
        x = np.random.default_rng(job).standard_normal(8)
        found = matrix.product(x)
        assert np.abs(found.y - A @ x).max() <= found.collected.bound


def elastic(matrix: ElasticMatrix, A: np.ndarray) -> None:
    for job in range(JOBS):
        w = np.random.default_rng(job).standard_normal(8)
        step = matrix.next_step(w)
        assert np.abs(step.y - A @ w).max() <= step.bound
        assert not set(step.answered) & matrix.lost


def main(moment: str, spare: int, victims: list[int]) -> None:
    first = WORLD.rank == 0
    early = moment in ("places", "storing")
    if early and WORLD.rank in victims:
        setattr(*MOMENTS[moment])
    A = np.random.default_rng(0).integers(0, 256, (50, 8), dtype=np.uint8)
    one = FieldMatrix(A if first else None, storage=Fraction(1, 2), finishers=WORLD.size - spare)
    two = CodedMatrix(A, rule=tolerant(spare))
    three = ElasticMatrix(A, ElasticSettings(WORLD.size - 1 - spare))
    if not early and WORLD.rank in victims:
        setattr(*MOMENTS[moment])
    held_up = moment in ("shuffle", "delivery") and not first and WORLD.rank not in victims
    exact(one, A, 0.1 * held_up)
    two.lead(lambda matrix: real(matrix, A))
    three.lead(lambda matrix: elastic(matrix, A))
    absent = one.close()
    if first:
        assert set(absent) == set(three.absent)
        print("absent", *absent, flush=True)
    one.end()


if __name__ == "__main__":
    faulthandler.dump_traceback_later(float(os.environ.get("STUCK_SECONDS", "60")), exit=True)
    try:
        main(sys.argv[1], int(sys.argv[2]), [int(rank) for rank in sys.argv[3:]])
    except CodedMRError as error:
        abort(WORLD, error)
