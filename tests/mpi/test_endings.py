"""Real worlds, well and badly ended, started by `run_world` as the command line does."""

from __future__ import annotations

import os
import subprocess
import time
import uuid
from pathlib import Path

import pytest

from coded_mr.launch import JOB_ID
from tests.mpi.interpreters import Mpi, candidates, usable

RUN = """
import os, sys
from coded_mr.launch import find_mpirun, run_world
job_id, n, program = sys.argv[1:]
command = [sys.executable, "-m", "mpi4py", "-c", program]
sys.exit(run_world(find_mpirun(os.environ), int(n), command, job_id=job_id, finished=lambda: True))
"""
# One write a line: what ranks print in pieces is interleaved.
HELLO = (
    "import os; from mpi4py import MPI; c = MPI.COMM_WORLD; "
    "os.write(1, b'hello %d of %d\\n' % (c.rank, c.size))"
)
WAIT = f"{HELLO}; c.Barrier(); import time; time.sleep(1000)"


def carriers(job_id: str) -> list[int]:
    """List the processes of a job, by the mark in their environment."""
    mark, found = f"{JOB_ID}={job_id}".encode(), []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def begin(mpi: Mpi, n: int, program: str) -> tuple[subprocess.Popen[str], str]:
    job_id = f"test-{uuid.uuid4()}"
    command = [mpi.python, "-c", RUN, job_id, str(n), program]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True), job_id


def finish(process: subprocess.Popen[str], job_id: str) -> tuple[int, str]:
    """Wait for the end; nothing of the job may be left."""
    try:
        out, err = process.communicate(timeout=60)
    finally:
        process.terminate()
    for _ in range(500):
        if not carriers(job_id):
            break
        time.sleep(0.01)
    assert carriers(job_id) == []
    return process.returncode, out + err


def test_three_ranks_say_hello(mpi: Mpi) -> None:
    status, text = finish(*begin(mpi, 3, HELLO))
    assert status == 0, text
    assert sorted(line for line in text.splitlines() if line.startswith("hello")) == [
        f"hello {rank} of 3" for rank in range(3)
    ]


def test_rank_that_exits_7(mpi: Mpi) -> None:
    status, text = finish(*begin(mpi, 3, f"{HELLO}; c.rank == 1 and os._exit(7); c.Barrier()"))
    # hydra may report the SIGKILL that it sent to the other ranks instead
    assert status in ((7,) if mpi.flavour == "openmpi" else (7, 9)), text


def test_rank_that_is_killed(mpi: Mpi) -> None:
    program = f"{HELLO}; c.Barrier(); c.rank == 1 and os.kill(os.getpid(), 9); c.Barrier()"
    status, text = finish(*begin(mpi, 3, program))
    assert status in (9, 137), text


def test_terminated_command_leaves_no_rank(mpi: Mpi) -> None:
    process, job_id = begin(mpi, 3, WAIT)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("hello")
    process.terminate()
    assert finish(process, job_id)[0] == 143


def test_killed_command_leaves_no_rank(mpi: Mpi) -> None:
    process, job_id = begin(mpi, 3, WAIT)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("hello")
    process.kill()
    assert finish(process, job_id)[0] == -9


def test_killed_launcher_leaves_no_rank(mpi: Mpi) -> None:
    process, job_id = begin(mpi, 3, WAIT)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("hello")
    launcher = next(pid for pid in carriers(job_id) if _parent(pid) == process.pid)
    os.kill(launcher, 9)
    assert finish(process, job_id)[0] == 137


def test_wrong_library_is_refused() -> None:
    """Start Open MPI's Python under MPICH's launcher: three worlds of one rank, refused by each."""
    by_flavour = {m.flavour: m for _, python in candidates() if isinstance(m := usable(python), Mpi)}
    if not {"openmpi", "mpich"} <= by_flavour.keys():
        pytest.skip("needs both MPIs: name the other's Python in CODED_MR_TEST_PYTHONS")
    program = (
        "import os, warnings; warnings.simplefilter('ignore')\n"
        "from coded_mr.launch import announced, check_world\n"
        "from mpi4py import MPI\n"
        "check_world(announced(os.environ), MPI.COMM_WORLD.size)"
    )
    result = by_flavour["mpich"].run(3, [by_flavour["openmpi"].python, "-c", program])
    assert result.returncode != 0
    assert "mpiexec of MPICH announced 3 ranks (PMI_SIZE=3)" in result.stderr
    assert "world of size 1" in result.stderr


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
