"""What Slurm says of the network between its nodes."""

from __future__ import annotations

import shutil
import subprocess

from coded_mr.errors import UsageError

__all__ = ["SLURM", "show_topology"]

SLURM = "slurm"
"""The name of a topology that means: ask Slurm."""

_SECONDS = 30


def show_topology() -> str | None:
    """Return what `scontrol show topology` prints; None where there is no scontrol.

    Raises UsageError when it fails, or says that Slurm knows of no switches.
    """
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
    said = " ".join((done.stderr or done.stdout).split())
    if done.returncode:
        raise UsageError(f"`scontrol show topology` failed: {said}; {_REMEDY}")
    if "SwitchName=" not in done.stdout:
        raise UsageError(f"Slurm knows no tree of switches (it says: {said or 'nothing'}); {_REMEDY}")
    return done.stdout


_REMEDY = "describe the network in a file and give that: --topology FILE"
