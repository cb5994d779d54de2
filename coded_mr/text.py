"""Numbers as people read them."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["bytes_text", "counted", "fraction_text"]


def counted(number: int, noun: str) -> str:
    """Return the number with its noun, in the plural unless it is 1."""
    return f"{number:,} {noun}" + ("" if number == 1 else "es" if noun.endswith("ch") else "s")


def bytes_text(count: float) -> str:
    """Return a number of bytes in decimal units, such as 1.50 MB."""
    if abs(count) < 1000:
        return f"{count:.0f} B"
    for unit, size in (("KB", 1e3), ("MB", 1e6)):
        if abs(count) < 1000 * size:
            return f"{count / size:.2f} {unit}"
    return f"{count / 1e9:.2f} GB"


def fraction_text(value: Fraction) -> str:
    """Return a fraction exactly if it is short, else to six digits."""
    text = str(value)
    return text if len(text) <= 9 else f"{float(value):.6g}"
