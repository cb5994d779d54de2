"""Where the description of a network comes from: a file, or Slurm."""

from __future__ import annotations

import shutil
import subprocess

from coded_mr.errors import UsageError
from coded_mr.topology.conf import parse, read_file
from coded_mr.topology.switches import SwitchTree

__all__ = ["SLURM", "read_topology"]

SLURM = "slurm"
"""The name of a topology that means: ask Slurm."""

_SECONDS = 30
_REMEDY = "describe the network in a file and give that: --topology FILE"


def read_topology(topology: str) -> SwitchTree | None:
    """Return the network in a file, or the one that Slurm shows; None when there is no scontrol to ask.

    Raises UsageError for a file that is wrong, and for a Slurm that fails or knows of no switches.
    """
    if topology != SLURM:
        return read_file(topology)
    shown = _shown()
    return None if shown is None else parse(shown, "that `scontrol show topology` prints")


def _shown() -> str | None:
    if shutil.which("scontrol") is None:
        return None
    try:
        done = subprocess.run(
            ["scontrol", "show", "topology"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UsageError(f"`scontrol show topology` gave no answer in {_SECONDS} s; {_REMEDY}") from error
    said = (done.stderr or done.stdout).strip().rpartition("\n")[2]
    if done.returncode:
        raise UsageError(f"`scontrol show topology` failed: {said}; {_REMEDY}")
    if "SwitchName=" not in done.stdout:
        raise UsageError(f"Slurm knows no tree of switches (it says: {said or 'nothing'}); {_REMEDY}")
    return done.stdout
