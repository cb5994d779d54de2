"""What a check found, and how findings are shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Finding", "Level", "failed", "listing"]

Level = Literal["ok", "warning", "error"]

_MARKS = {"ok": "ok     ", "warning": "warning", "error": "ERROR  "}


@dataclass(frozen=True)
class Finding:
    """Say what was found and, unless the level is "ok", how to mend it.

    level: "error" when a job would fail, "warning" when it would run worse than it could.
    """

    level: Level
    what: str
    remedy: str = ""


def failed(findings: Iterable[Finding]) -> bool:
    """Tell whether one of the findings is an error."""
    return any(finding.level == "error" for finding in findings)


def listing(findings: Sequence[Finding]) -> str:
    """Return one line a finding, with its remedy below it."""
    lines = []
    for finding in findings:
        lines.append(f"{_MARKS[finding.level]}  " + finding.what.replace("\n", f"\n{'':9}"))
        if finding.remedy:
            lines.append(f"{'':7}  -> {finding.remedy}")
    return "\n".join(lines)
