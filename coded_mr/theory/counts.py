"""What every formula of the coded linear algebra asks of a count."""

from __future__ import annotations

from coded_mr.errors import UsageError

__all__ = ["check_count"]


def check_count(value: object, what: str, least: int = 1) -> None:
    """Raise UsageError, naming `what`, unless the value is an int, `least` or more."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise UsageError(f"{what} is {value!r}: it must be a whole number, {least} or more")
