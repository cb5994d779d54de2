"""Numbers as people read them."""

from __future__ import annotations

__all__ = ["bytes_text", "counted"]


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
