"""Loads when a solver reduces a bundle of partitions, because ranks are fewer than partitions."""

from __future__ import annotations

from fractions import Fraction
from math import comb

from coded_mr.errors import UsageError

__all__ = ["helper_load"]


def helper_load(partitions: int, solvers: int, r: int) -> Fraction:
    """Return the exact load L of the solver-helper scheme at solver degree r, padding included.

    The Q partitions are dealt to S solvers as evenly as can be: b = Q mod S of them reduce one more than
    c = Q div S, and each XOR is as long as its longest member. With S = Q it is (Q-r)/(Q(r+1)), Theorem 1 of
    Yu et al. 2017; the bundles are this project's extension.

    Raises UsageError unless 1 <= S <= Q and 0 <= r <= S.
    """
    if not 1 <= solvers <= partitions or not 0 <= r <= solvers:
        raise UsageError(f"no load for Q={partitions} partitions, S={solvers} solvers, r={r}")
    least, longer = divmod(partitions, solvers)
    messages = (least + 1) * comb(solvers, r + 1) - comb(solvers - longer, r + 1)
    return Fraction(messages, partitions * comb(solvers, r))
