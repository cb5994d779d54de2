"""What touches the disk: find, split and read inputs; write, commit and verify outputs."""

from __future__ import annotations

from coded_mr.io.files import InputFile
from coded_mr.io.inputs import Source, deal, discover, split
from coded_mr.io.output import OutputDirectory, PartFile, check_output, read_success, verify_output

__all__ = [
    "InputFile",
    "OutputDirectory",
    "PartFile",
    "Source",
    "check_output",
    "deal",
    "discover",
    "read_success",
    "split",
    "verify_output",
]
