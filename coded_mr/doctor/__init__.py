"""Find out whether a job would run: here, on all ranks of a world, and on a sample of its input."""

from __future__ import annotations

from coded_mr.doctor.finding import Finding, Level, failed, listing

__all__ = ["Finding", "Level", "failed", "listing"]
