"""How a rank fails: the user's traceback first, then where, then the whole job ends."""

from __future__ import annotations

import socket
import sys
import time
import traceback
from pathlib import Path
from typing import NoReturn

from mpi4py import MPI

import coded_mr
from coded_mr.errors import CodedMRError, UserCodeError

__all__ = ["abort", "abort_world", "describe"]

_PACKAGE = str(Path(coded_mr.__file__).parent)

# The launcher forwards what a rank printed; it gets this long before the rank pulls everything down.
_FORWARD_SECONDS = 0.2


def describe(error: BaseException, rank: int) -> str:
    """Return what to print of a rank's failure: the traceback of user code, if any, and one message."""
    where = f"coded-mr: rank {rank} on {socket.gethostname()}"
    if isinstance(error, UserCodeError) and error.__cause__ is not None:
        return f"{_user_traceback(error.__cause__)}{where}: {error}\n"
    if isinstance(error, CodedMRError):
        cause = f"\n  caused by {error.__cause__!r}" if isinstance(error.__cause__, OSError) else ""
        return f"{where}: {error}{cause}\n"
    if isinstance(error, MemoryError):
        return f"{_whole_traceback(error)}{where}: out of memory; use more ranks or a smaller -r\n"
    return f"{_whole_traceback(error)}{where}: {type(error).__name__} inside coded-mr: please report it\n"


def abort(comm: MPI.Comm, error: BaseException) -> NoReturn:
    """Print the failure and end all ranks with a status that is not zero."""
    if isinstance(error, KeyboardInterrupt):
        status = 130
    else:
        sys.stdout.flush()
        sys.stderr.write(describe(error, comm.rank))
        sys.stderr.flush()
        status = error.exit_status if isinstance(error, CodedMRError) else 1
        time.sleep(_FORWARD_SECONDS)
    comm.Abort(status)
    raise SystemExit(status)


def abort_world(status: int) -> NoReturn:
    """End all ranks that a launcher started, from a rank that has not used MPI yet and has said why."""
    time.sleep(_FORWARD_SECONDS)
    MPI.COMM_WORLD.Abort(status)
    raise SystemExit(status)


def _user_traceback(cause: BaseException) -> str:
    """Return the traceback without the frames of this package: it begins in the user's file."""
    shown = traceback.TracebackException.from_exception(cause)
    frames = [frame for frame in shown.stack if not frame.filename.startswith(_PACKAGE)]
    shown.stack = traceback.StackSummary.from_list(frames)
    return "".join(shown.format())


def _whole_traceback(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))
