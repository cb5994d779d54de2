"""Coded MapReduce over MPI: map each file on several servers on purpose, shuffle with coded multicasts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coded_mr.job import Job, RecordJob

if TYPE_CHECKING:
    from coded_mr.io.inputs import InputFile

__all__ = ["InputFile", "Job", "RecordJob", "__version__"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import the public names that most uses of the package do without when they are asked for."""
    if name == "InputFile":
        from coded_mr.io.inputs import InputFile

        return InputFile
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
