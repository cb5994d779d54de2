"""The schemes: each is one function that returns a `Plan`."""

from coded_mr.plan.schemes.cascaded import cascaded
from coded_mr.plan.schemes.replicated import replicated
from coded_mr.plan.schemes.resolvable import resolvable, resolvable_load
from coded_mr.plan.schemes.shared import hybrid, mixture, parallel, shared, sliced
from coded_mr.plan.schemes.solver_helper import solver_helper
from coded_mr.plan.schemes.symmetric import symmetric
from coded_mr.plan.schemes.uncoded import uncoded

__all__ = [
    "cascaded",
    "hybrid",
    "mixture",
    "parallel",
    "replicated",
    "resolvable",
    "resolvable_load",
    "shared",
    "sliced",
    "solver_helper",
    "symmetric",
    "uncoded",
]
