"""What products y = A x are good for: PageRank by power iteration, and linear regression by gradient descent.

Each takes the product as a function, so that it runs the same on `numpy`, on a `CodedMatrix.matvec` whose
workers straggle, and on an `ElasticMatrix.product` whose machines come and go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from coded_mr.errors import UsageError

__all__ = ["Converged", "largest_eigenvalue", "linear_regression", "pagerank"]

Reals = npt.NDArray[np.floating[Any]]
Multiply = Callable[[Reals], Reals]


@dataclass(frozen=True)
class Converged:
    """Hold the last iterate, how many steps led to it, and the size of what the last step changed.

    change  sum of absolute changes (PageRank), or the length of the gradient over that at the start
    """

    value: Reals
    steps: int
    change: float

    def reached(self, tolerance: float) -> bool:
        """Return whether the change is within the tolerance."""
        return self.change <= tolerance


def pagerank(
    product: Multiply,
    dangling: npt.ArrayLike,
    *,
    damping: float = 0.85,
    tolerance: float = 1e-12,
    most: int = 500,
) -> Converged:
    """Return the PageRank of n nodes, summing to 1, by at most `most` products with the link matrix.

    product   x -> M x, where column i of M spreads 1 over what node i links to (`link_matrix`)
    dangling  n flags: nodes that link nowhere, whose rank goes to all alike

    Raises UsageError unless 0 <= damping < 1. Source: Page, Brin, Motwani, Winograd 1999.
    """
    if not 0 <= damping < 1:
        raise UsageError(f"the damping is {damping!r}: it must be 0 or more and below 1")
    nowhere = np.asarray(dangling, dtype=bool)
    n = nowhere.size
    rank = np.full(n, 1 / n)
    change, steps = float("inf"), 0
    while change > tolerance and steps < most:
        following = damping * (product(rank) + rank[nowhere].sum() / n) + (1 - damping) / n
        change, rank, steps = float(np.abs(following - rank).sum()), following, steps + 1
    return Converged(rank, steps, change)


def largest_eigenvalue(product: Multiply, n: int, *, tolerance: float = 1e-3, most: int = 200) -> Converged:
    """Return an eigenvector of length 1 for the largest eigenvalue, by power iteration.

    product  x -> S x for a symmetric S (n, n) without negative eigenvalues. `value @ product(value)` is then
             the eigenvalue, from below; the change is that of its estimate, relative.
    """
    vector: Reals = np.random.default_rng(0).standard_normal(n)
    vector /= np.linalg.norm(vector)
    value, change, steps = 0.0, float("inf"), 0
    while change > tolerance and steps < most:
        following = product(vector)
        estimate, length = float(vector @ following), float(np.linalg.norm(following))
        change, value, steps = abs(estimate - value) / (abs(estimate) or 1.0), estimate, steps + 1
        if length == 0:
            break
        vector = following / length
    return Converged(vector, steps, change)


def linear_regression(
    forward: Multiply,
    backward: Multiply,
    y: Reals,
    *,
    tolerance: float = 1e-10,
    most: int = 5000,
) -> Converged:
    """Return w that minimises |X w - y|, by gradient descent.

    forward, backward  w -> X w and r -> X^T r; two products a step, with both matrices on the machines
    y                  (p,); tolerance  of the gradient X^T (X w - y), relative to the first one

    The step is 1 over the largest eigenvalue of X^T X, which is measured first, with 5 % to spare.
    """
    gradient = -backward(y)
    w = np.zeros_like(gradient)
    first = float(np.linalg.norm(gradient))
    if first == 0:
        return Converged(w, 0, 0.0)
    squared: Multiply = lambda v: backward(forward(v))  # noqa: E731
    top = largest_eigenvalue(squared, w.size).value
    rate = 1 / (1.05 * float(top @ squared(top)))
    change, steps = 1.0, 0
    while change > tolerance and steps < most:
        w = w - rate * gradient
        gradient = backward(forward(w) - y)
        change, steps = float(np.linalg.norm(gradient)) / first, steps + 1
    return Converged(w, steps, change)
