"""How options of `coded-mr linear` are read: exact numbers, whole numbers, a rank with its delay."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from fractions import Fraction

__all__ = ["delay", "fraction", "one_or_two", "positive", "whole"]

_NUMBER = re.compile(r"[0-9]{1,30}(/0*[1-9][0-9]{0,30})?|[0-9]{0,30}\.[0-9]{1,30}")


def fraction(text: str) -> Fraction:
    """Return a number such as 2, 0.25 or 1/3, exactly."""
    if not _NUMBER.fullmatch(text):
        raise argparse.ArgumentTypeError(f"must be a number such as 2, 0.25 or 1/3, not {text!r}")
    return Fraction(text)


def positive(text: str) -> Fraction:
    """Return a number above 0, exactly."""
    number = fraction(text)
    if not number:
        raise argparse.ArgumentTypeError("must be above 0")
    return number


def whole(least: int) -> Callable[[str], int]:
    """Return the conversion of a whole number from some least one."""

    def convert(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) >= least):
            raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}, not {text!r}")
        return int(text)

    return convert


def one_or_two(text: str) -> tuple[int, ...]:
    """Return one whole number of at least 1, or two with a comma, the lesser first."""
    numbers = tuple(map(whole(1), text.split(",")))
    if len(numbers) > 2 or numbers != tuple(sorted(set(numbers))):
        raise argparse.ArgumentTypeError(
            f"must be a number, or two such as 2,4, the lesser first, not {text!r}"
        )
    return numbers


def delay(text: str) -> tuple[int, float]:
    """Return a rank and seconds from RANK:SECONDS."""
    rank, colon, seconds = text.partition(":")
    if not (colon and rank.isascii() and rank.isdigit() and _NUMBER.fullmatch(seconds)):
        raise argparse.ArgumentTypeError(f"must be RANK:SECONDS, such as 2:0.5, not {text!r}")
    return int(rank), float(Fraction(seconds))
