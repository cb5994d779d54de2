"""Coded MapReduce over MPI: map each file on several servers on purpose, shuffle with coded multicasts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coded_mr.io.files import InputFile
from coded_mr.job import Job, RecordJob

if TYPE_CHECKING:
    from coded_mr.api import plan as make_plan
    from coded_mr.api import run
    from coded_mr.plan.model import Plan

__all__ = ["InputFile", "Job", "Plan", "RecordJob", "__version__", "make_plan", "run"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import the names that a job file does without when they are asked for."""
    if name == "Plan":
        from coded_mr.plan.model import Plan

        return Plan
    if name in ("make_plan", "run"):
        from coded_mr import api

        return api.run if name == "run" else api.plan
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
