"""The paper's approximations of the optimal allocation: floats that show how it scales.

Integrality is dropped; `coded_mr.theory.allocation` has the exact answers, and only those are used
to plan. Yu, Li, Maddah-Ali, Avestimehr 2017 (arXiv 1702.07297).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, inf, sqrt

from coded_mr.theory.checks import check_functions
from coded_mr.theory.costs import Costs

__all__ = ["Approximation", "approximate_parallel", "approximate_sequential"]


@dataclass(frozen=True)
class Approximation:
    """Hold approximate optima: computation load r, servers k, and their crude forms for large Q.

    r may be negative where the exact r_star is 0; k is then infinite.
    """

    r: float
    k: float
    r_crude: float
    k_crude: float


def approximate_sequential(Q: int, costs: Costs) -> Approximation:
    """Return r ~ sqrt((Q + 1) c_s / c_m) - 1 ~ sqrt(Q c_s / c_m), and k ~ Q + Q / r.

    The exact r_star is within 1 of r clamped to 0..Q.
    Source: arXiv 1702.07297, (13) and (14).
    """
    check_functions(Q)
    r = sqrt((Q + 1) * costs.shuffle / costs.map) - 1
    return _approximation(Q, costs, r)


def approximate_parallel(Q: int, costs: Costs) -> Approximation:
    """Return r ~ sqrt(Q c + ((c + 1) / 2)^2) - (c + 1) / 2 with c = c_s / c_m, and k ~ Q + Q / r.

    r is where c_m r / Q meets c_s (Q - r) / (Q (r + 1)), whole or not.
    Source: arXiv 1702.07297, (20) and (21).
    """
    check_functions(Q)
    ratio = costs.shuffle / costs.map
    half = float((ratio + 1) / 2)
    # The same root with the difference turned into a sum, which does not cancel when c is large.
    r = float(Q * ratio) / (hypot(sqrt(Q * ratio), half) + half)
    return _approximation(Q, costs, r)


def _approximation(Q: int, costs: Costs, r: float) -> Approximation:
    """Complete an approximation from its computation load."""
    return Approximation(
        r=r,
        k=Q + Q / r if r > 0 else inf,
        r_crude=sqrt(Q * costs.shuffle / costs.map),
        k_crude=Q + sqrt(Q * costs.map / costs.shuffle),
    )
