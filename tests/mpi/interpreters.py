"""The Pythons whose MPI the tests run on, and how a command runs under each one's launcher."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

import pytest

from coded_mr.errors import LaunchError
from coded_mr.launch import Mpirun, find_mpirun, start, stop

__all__ = ["Mpi", "candidates", "usable"]


@dataclass(frozen=True)
class Mpi:
    """Run commands under the MPI launcher that belongs to one Python."""

    python: str
    launcher: Mpirun

    @property
    def mpirun(self) -> str:
        """Give the launcher's path."""
        return self.launcher.path

    @property
    def flavour(self) -> str:
        """Give "openmpi", "mpich" or "unknown"."""
        return self.launcher.flavour

    def run(
        self,
        n: int,
        args: Sequence[str],
        *,
        timeout: float = 60,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        survive: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        """Run the command `args` (its program first) on `n` ranks; `env` is added to ours.

        With `survive` a rank that dies does not end the others, where this MPI can do that.

        Fails the test, with what the ranks printed, when they have not ended after `timeout`
        seconds; nothing of the job is left running then.
        """
        job_id = f"test-{uuid.uuid4()}"
        environment = {**os.environ, **(env or {})}
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = start(
                self.launcher,
                n,
                args,
                job_id=job_id,
                env=environment,
                cwd=cwd,
                stdout=out,
                stderr=err,
                survive=survive,
            )
            try:
                process.wait(timeout)
            except BaseException as error:
                stop(process, job_id)
                if isinstance(error, subprocess.TimeoutExpired):
                    pytest.fail(f"not ended after {timeout} s\n{_text(out)}\n{_text(err)}", pytrace=False)
                raise
            return subprocess.CompletedProcess(list(args), process.returncode, _text(out), _text(err))


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def candidates() -> list[tuple[str, str]]:
    """List (test id, python): this Python, then those in CODED_MR_TEST_PYTHONS, each once."""
    named = [python for python in os.environ.get("CODED_MR_TEST_PYTHONS", "").split(":") if python]
    return [(_name(python), python) for python in dict.fromkeys([sys.executable, *named])]


def _name(python: str) -> str:
    try:
        return find_mpirun(os.environ, python).flavour
    except LaunchError:
        return f"none-{Path(python).parent.parent.name}"


@cache
def usable(python: str) -> Mpi | str:
    """Give the MPI of `python`, or the reason why it has none."""
    try:
        launcher = find_mpirun(os.environ, python)
    except LaunchError as error:
        return str(error)
    program = "import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; MPI.Get_library_version()"
    command = [python, "-c", program]
    try:
        loaded = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except OSError as error:
        return f"{python} does not run: {error}"
    if loaded.returncode:
        return f"{python} cannot load MPI: {loaded.stderr.strip()}"
    return Mpi(python, launcher)
