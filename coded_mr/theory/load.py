"""What a computation load r costs in communication, and how many helpers it takes.

Yu, Li, Maddah-Ali, Avestimehr, "How to Optimally Allocate Resources for Coded Distributed
Computing?", 2017 (arXiv 1702.07297). Q solvers reduce one function each; every file is mapped by
r of them and by one helper, and each coded packet serves r+1 solvers.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from coded_mr.errors import UsageError
from coded_mr.theory.checks import as_fraction, check_functions

__all__ = ["Implementation", "check_implementation", "communication_load", "helpers_needed"]

Implementation = Literal["sequential", "parallel"]


def communication_load(Q: int, r: int | Fraction) -> Fraction:
    """Return Conv f(r), the least communication load at computation load r.

    f(r) = (Q - r) / (Q (r + 1)) at whole r, in units of QNT bits: 1 at r = 0, 0 at r = Q. Between
    whole numbers the lower convex envelope: f is convex, so it is the line between neighbours,
    reached by splitting the files between the two schemes (memory sharing).
    0 <= r <= Q; raises UsageError otherwise.
    Source: arXiv 1702.07297, Theorems 1 and 2.
    """
    check_functions(Q)
    degree = _degree(Q, r)
    low = degree.numerator // degree.denominator
    share = degree - low
    return (1 - share) * _whole_load(Q, low) + share * _whole_load(Q, low + 1)


def helpers_needed(Q: int, r: int | Fraction, implementation: Implementation) -> int | None:
    """Return the fewest helpers that map no longer than the solvers do at computation load r.

    ceil(Q / r) while r <= Q - 1. Above that the files at degree Q need no helper, which leaves
    ceil(Q (Q - r) / r), down to none at r = Q. None for r = 0: no finite number is enough.
    Sequential allocations have whole r (Theorem 1), parallel ones any rational r (Theorem 2).
    Raises UsageError unless 0 <= r <= Q, and r is whole for "sequential".
    Source: arXiv 1702.07297, Theorems 1 and 2.
    """
    check_functions(Q)
    check_implementation(implementation)
    degree = _degree(Q, r)
    if implementation == "sequential" and degree.denominator != 1:
        raise UsageError(f"the computation load r is {degree}: a sequential allocation needs a whole number")
    if degree == 0:
        return None
    return _ceiling(Q * min(Fraction(1), Q - degree) / degree)


def check_implementation(implementation: str) -> None:
    """Raise UsageError unless the word is "sequential" or "parallel"."""
    if implementation not in ("sequential", "parallel"):
        raise UsageError(f"the implementation is {implementation!r}: choose 'sequential' or 'parallel'")


def _degree(Q: int, r: int | Fraction) -> Fraction:
    """Return r as a Fraction, within 0..Q."""
    degree = as_fraction(r, "the computation load r")
    if not 0 <= degree <= Q:
        raise UsageError(f"the computation load r is {degree}: it must lie between 0 and Q = {Q}")
    return degree


def _whole_load(Q: int, r: int) -> Fraction:
    """Return f(r) for a whole r."""
    return Fraction(Q - r, Q * (r + 1))


def _ceiling(value: Fraction) -> int:
    """Return the least integer that is not below the value."""
    return -(-value.numerator // value.denominator)
