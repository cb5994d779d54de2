"""One setting carried out on an emulated cluster of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.cluster import Cluster, ClusterError, create, destroy, job, star
from benchmarks.cluster.launching import environment
from benchmarks.network.task import Task
from coded_mr.launch import find_mpirun

__all__ = ["carry_out"]

_RANKS_A_HOST = 2
# Hosts wait for a shared medium, and lose nothing; a switch drops what its ports cannot hold.
_QUEUES = {"bus": "2s", "switch": "50ms"}
# Beyond the deadline: the run that is under way then, or a job that does not end by itself.
_GRACE = 120.0
_KILL_SECONDS = 10.0


def carry_out(task: Task) -> None:
    """Make the cluster, run the task across it and take the cluster down, whatever happens.

    Raises ClusterError when there can be no cluster or the job fails.
    """
    setting = task.setting
    with tempfile.TemporaryDirectory(prefix="coded-mr-network-") as name:
        file = Path(name) / "task.json"
        task.save(file)
        with _cluster(Path(name) / "cluster", task) as cluster:
            mpirun = find_mpirun(os.environ, sys.executable)
            ranks = setting.hosts * _RANKS_A_HOST
            program = [sys.executable, "-m", "benchmarks.network.ranks", str(file)]
            _run(job(cluster, mpirun, ranks, program, spread=True), setting.name, task.deadline)


@contextmanager
def _cluster(state: Path, task: Task) -> Iterator[Cluster]:
    setting = task.setting
    try:
        yield create(
            state,
            star(setting.hosts, setting.network, snooping=setting.network == "switch"),
            f"{setting.rate}mbit",
            queue=_QUEUES[setting.network],
            slots=_RANKS_A_HOST,
        )
    finally:
        destroy(state)


def _run(command: list[str], name: str, deadline: float) -> None:
    """Run a command in a session of its own, which ends with this process."""
    limit = deadline - time.time() + _GRACE
    with subprocess.Popen(command, env=environment(), start_new_session=True) as process:
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired as error:
            raise ClusterError(
                f"{name}: the MPI job did not end in {limit:.0f} s; what it measured is kept"
            ) from error
        finally:
            _end(process)
    if status:
        raise ClusterError(
            f"{name}: the MPI job failed with status {status}; what it measured before that is kept"
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    for sign in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_KILL_SECONDS)
