"""What is optimal: closed forms and bounds in exact rational arithmetic.

No MPI, no files, no numpy. Each module holds one result and cites its source; the optimal resource
allocation (arXiv 1702.07297, Theorems 1 and 2) is `coded_mr.theory.allocation`.
"""

from __future__ import annotations

from coded_mr.theory.allocation import (
    Allocation,
    Costs,
    Implementation,
    Row,
    Uncoded,
    communication_load,
    helpers_needed,
    minimisers,
    parallel,
    rows,
    sequential,
    sequential_time,
    uncoded_parallel,
    uncoded_sequential,
)
from coded_mr.theory.approximation import Approximation, approximate_parallel, approximate_sequential

__all__ = [
    "Allocation",
    "Approximation",
    "Costs",
    "Implementation",
    "Row",
    "Uncoded",
    "approximate_parallel",
    "approximate_sequential",
    "communication_load",
    "helpers_needed",
    "minimisers",
    "parallel",
    "rows",
    "sequential",
    "sequential_time",
    "uncoded_parallel",
    "uncoded_sequential",
]
