"""What every exact formula asks of its arguments."""

from __future__ import annotations

from fractions import Fraction
from numbers import Rational

from coded_mr.errors import UsageError

__all__ = ["as_fraction", "check_functions"]


def as_fraction(value: object, what: str) -> Fraction:
    """Return an integer or rational as a Fraction.

    Raises UsageError, naming `what`, for anything else: a float has already lost the exact value
    on which ties between computation loads depend.
    """
    if isinstance(value, bool) or not isinstance(value, Rational):
        raise UsageError(
            f"{what} is {value!r}, not an exact number: pass an int or a fractions.Fraction"
            " (Fraction('0.1') is a tenth, Fraction(0.1) is not)"
        )
    return Fraction(value)


def check_functions(Q: object) -> None:
    """Raise UsageError unless Q, the number of output functions (partitions), is an int >= 1."""
    if not isinstance(Q, int) or isinstance(Q, bool):
        raise UsageError(f"the number of partitions Q is {Q!r}: it must be a whole number, 1 or more")
    if Q < 1:
        raise UsageError(f"the number of partitions Q is {Q}: there must be at least 1")
