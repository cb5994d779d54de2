"""The three costs that the resource allocation problem is stated in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from coded_mr.errors import UsageError
from coded_mr.theory.checks import as_fraction

__all__ = ["Costs"]

_NAMES = ("c_m (map)", "c_s (shuffle)", "c_r (reduce)")
_FORMS = "write an integer, a decimal or a fraction, such as 2, 0.25, 1e-3 or 3/7"
# Every ratio of two costs within these bounds is a finite float, which reports and estimates need.
_LEAST, _MOST = Fraction(1, 10**100), Fraction(10**100)
# A bounded exponent keeps 1e-999999999 from asking for gigabytes of digits.
_NUMBER = re.compile(r"[+-]?(?:[0-9]+/[0-9]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?)")


@dataclass(frozen=True)
class Costs:
    """Hold the seconds that each phase of a job would take in its unit of work.

    map      c_m: to map every file on one server; > 0.
    shuffle  c_s: to send QNT bits, every intermediate value once; > 0.
    reduce   c_r: to reduce one function; >= 0.

    Any common unit of time will do: scaling all three scales times and changes no optimum.
    Integers are taken as Fractions. Raises UsageError for floats, for values below these ranges and
    for values that are not 0 but outside 1e-100..1e100.
    Source: Yu, Li, Maddah-Ali, Avestimehr 2017 (arXiv 1702.07297), problem formulation.
    """

    map: Fraction
    shuffle: Fraction
    reduce: Fraction

    def __post_init__(self) -> None:
        """Check the ranges."""
        for field, name in zip(("map", "shuffle", "reduce"), _NAMES, strict=True):
            value = as_fraction(getattr(self, field), f"the cost {name}")
            if value < 0 or (value == 0 and field != "reduce"):
                least = "0 or more" if field == "reduce" else "greater than 0"
                raise UsageError(f"the cost {name} is {value}: give a time that is {least}")
            if value != 0 and not _LEAST <= value <= _MOST:
                raise UsageError(
                    f"the cost {name} lies outside 1e-100..1e100: choose another unit of time for all three"
                )
            object.__setattr__(self, field, value)

    @classmethod
    def parse(cls, text: str) -> Costs:
        """Read "c_m,c_s,c_r", each an integer, a decimal or a fraction, exactly.

        Raises UsageError that names the part which is missing, unreadable or out of range.
        """
        parts = [part.strip() for part in text.split(",")]
        if len(parts) != len(_NAMES):
            count = f"{len(parts)} part" + "s" * (len(parts) != 1)
            raise UsageError(
                f"the costs {text!r} have {count}: give three, separated by commas,"
                " c_m,c_s,c_r for map, shuffle and reduce, such as 1,2,1"
            )
        return cls(*(_number(part, name, text) for part, name in zip(parts, _NAMES, strict=True)))

    def __str__(self) -> str:
        """Return the text that `parse` reads back."""
        return f"{self.map},{self.shuffle},{self.reduce}"


def _number(part: str, name: str, text: str) -> Fraction:
    """Read one exact number of a `--costs` text."""
    if not _NUMBER.fullmatch(part):
        raise UsageError(f"{name} in the costs {text!r} is {part!r}, which is no number: {_FORMS}")
    try:
        return Fraction(part)
    except ZeroDivisionError:
        raise UsageError(f"{name} in the costs {text!r} is {part!r}, a division by zero: {_FORMS}") from None
    except ValueError as error:
        raise UsageError(f"{name} in the costs cannot be read ({error}): {_FORMS}") from error
