"""The schemes: each is one function that returns a `Plan`."""

from coded_mr.plan.schemes.solver_helper import solver_helper
from coded_mr.plan.schemes.uncoded import uncoded

__all__ = ["solver_helper", "uncoded"]
