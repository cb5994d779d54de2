"""Planning and running jobs from Python."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

from coded_mr.plan.model import Plan
from coded_mr.plan.offers import Scheme
from coded_mr.plan.planner import Request, decide
from coded_mr.theory.costs import Costs
from coded_mr.theory.load import Implementation

if TYPE_CHECKING:
    from mpi4py import MPI

    from coded_mr.engine.run_report import RunReport
    from coded_mr.job import Job, RecordJob

__all__ = ["plan", "run"]


def plan(
    partitions: int,
    costs: str | Costs,
    *,
    ranks: int | None = None,
    r: int | None = None,
    helpers: int | None = None,
    scheme: Scheme | None = None,
    implementation: Implementation = "sequential",
) -> Plan:
    """Return the plan that the planner chooses for some costs, "c_m,c_s,c_r"; needs no MPI.

    `ranks` None means as many as the plan wants. Raises UsageError and PlanError.
    """
    request = Request(partitions, ranks, r, helpers, scheme, implementation)
    return decide(request, Costs.parse(costs) if isinstance(costs, str) else costs).chosen.build()


def run(
    job: Job | RecordJob,
    inputs: Sequence[str],
    output: str,
    *,
    comm: MPI.Intracomm | None = None,
    partitions: int | None = None,
    costs: str | None = None,
    r: int | None = None,
    helpers: int | None = None,
    scheme: Scheme | None = None,
    implementation: Implementation = "sequential",
    overwrite: bool = False,
) -> RunReport | None:
    """Run a job on the ranks of a communicator (default: all) and return the report on its rank 0.

    Collective: every rank calls it with the same arguments. When anything goes wrong on a rank of several,
    that rank prints why and ends them all, as `coded-mr run` does; a rank alone raises the error.
    """
    from mpi4py import MPI

    from coded_mr.engine.failing import abort
    from coded_mr.engine.runner import Order, run_order
    from coded_mr.engine.waiting import broadcast

    world = MPI.COMM_WORLD if comm is None else comm
    try:
        order = Order(
            job=job,
            job_name=type(job).__name__,
            inputs=tuple(inputs),
            output=output,
            request=Request(partitions or world.size, world.size, r, helpers, scheme, implementation),
            job_id=broadcast(world, lambda: uuid.uuid4().hex[:16]),
            costs=None if costs is None else Costs.parse(costs),
            overwrite=overwrite,
        )
        return run_order(world, order)
    except BaseException as error:
        if world.size == 1:
            raise
        abort(world, error)
