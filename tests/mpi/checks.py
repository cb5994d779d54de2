"""Run check files, pytest files for inside an MPI world, on n ranks in one launch."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.mpi.interpreters import Mpi

__all__ = ["LAUNCH_SECONDS", "STUCK_SECONDS", "blamed", "run_checks", "sizes"]

TOP = Path(__file__).resolve().parents[2]
STUCK_SECONDS = 40
LAUNCH_SECONDS = 400


def sizes(path: Path) -> tuple[int, ...]:
    """Read the world sizes that a check file asks for: its constant SIZES, else 1 to 4.

    Reads the text: to import the file would start MPI here.
    """
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and any(getattr(t, "id", "") == "SIZES" for t in node.targets):
            return tuple(ast.literal_eval(node.value))
    return (1, 2, 3, 4)


def run_checks(
    mpi: Mpi, paths: Sequence[Path], n: int, scratch: Path, *, stuck: float = STUCK_SECONDS
) -> subprocess.CompletedProcess[str]:
    """Run the checks of files of one folder on `n` ranks and return what they printed.

    The first that fails ends the world. A check that takes `stuck` seconds is taken for hung: its rank
    prints where. Each rank has its temporary folder below `scratch`, and no conftest.py but the folder's.
    """
    command = [mpi.python, "-m", "mpi4py", "-m", "pytest", "-x", "-q", "--only-mpi"]
    options = ["-p", "pytest_mpi", "-p", "no:hypothesispytest", "--no-header", "--color=no"]
    place = ["-c", str(TOP / "setup.cfg"), "--rootdir", str(TOP), "--confcutdir", str(paths[0].parent)]
    hang = ["-o", f"faulthandler_timeout={stuck}", "-o", "faulthandler_exit_on_timeout=true"]
    return mpi.run(
        n,
        [*command, *options, *place, *hang, *map(str, paths)],
        timeout=LAUNCH_SECONDS,
        env={"CODED_MR_CHECK_SCRATCH": str(scratch)},
        cwd=TOP,
    )


def blamed(said: str, paths: Sequence[Path]) -> list[Path]:
    """Return the files of a world that its end is due to: those its ranks named, else all."""
    return [path for path in paths if path.name in said] or list(paths)
