"""Run a check file, a pytest file for inside an MPI world, on n ranks in one launch."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

from tests.mpi.interpreters import Mpi

__all__ = ["LAUNCH_SECONDS", "STUCK_SECONDS", "run_checks", "sizes"]

TOP = Path(__file__).resolve().parents[2]
STUCK_SECONDS = 40
LAUNCH_SECONDS = 150


def sizes(path: Path) -> tuple[int, ...]:
    """Read the world sizes that a check file asks for: its constant SIZES, else 1 to 4.

    Reads the text: to import the file would start MPI here.
    """
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and any(getattr(t, "id", "") == "SIZES" for t in node.targets):
            return tuple(ast.literal_eval(node.value))
    return (1, 2, 3, 4)


def run_checks(
    mpi: Mpi, path: Path, n: int, scratch: Path, *, stuck: float = STUCK_SECONDS
) -> subprocess.CompletedProcess[str]:
    """Run the checks of one file on `n` ranks and return what they printed.

    A check that takes `stuck` seconds is taken for hung: its rank prints where, and the world
    ends. Each rank has its temporary folder below `scratch`.
    """
    command = [mpi.python, "-m", "mpi4py", "-m", "pytest", "-x", "-q", "--only-mpi"]
    options = ["-p", "pytest_mpi", "--no-header", "--color=no"]
    place = ["-c", str(TOP / "setup.cfg"), "--rootdir", str(TOP)]
    hang = ["-o", f"faulthandler_timeout={stuck}", "-o", "faulthandler_exit_on_timeout=true"]
    return mpi.run(
        n,
        [*command, *options, *place, *hang, str(path)],
        timeout=LAUNCH_SECONDS,
        env={"CODED_MR_CHECK_SCRATCH": str(scratch)},
        cwd=TOP,
    )
