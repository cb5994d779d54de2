"""Run a command that ends when its parent does: `python guard.py PARENT PROGRAM ARGUMENTS...`.

A file of its own without imports from coded_mr: it becomes the launcher, before anything else.
"""

from __future__ import annotations

import os
import signal
import sys

__all__ = ["main"]

PR_SET_PDEATHSIG = 1


def main(parent: int, command: list[str]) -> None:
    """Become `command` (an absolute path first), which gets SIGTERM when process `parent` dies."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it died before the line above could take effect
        raise SystemExit(128 + signal.SIGTERM)
    os.execv(command[0], command)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
