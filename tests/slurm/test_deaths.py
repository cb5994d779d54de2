"""Coded products in a Slurm job, one of whose ranks is killed."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from tests.mpi.interpreters import Mpi, candidates, usable
from tests.slurm.cluster import Slurm
from tests.slurm.test_cluster import CROWDED

SECONDS = 60
# What stands before `python -m coded_mr` in the batch script, by the MPI that it is for.
STARTS = {"openmpi": ("", "-n 4"), "mpich": ("srun --mpi=pmi2 --kill-on-bad-exit=1 ", "")}


def started(slurm: Slurm, job: str) -> dict[int, int]:
    """Return the processes of the machines, as soon as the job has said which these are."""
    output = Path(slurm.facts(job)["StdOut"])
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        text = output.read_text(errors="replace") if output.exists() else ""
        if found := re.findall(r"machine (\d+): process (\d+)", text):
            return {int(machine): int(process) for machine, process in found}
        time.sleep(0.05)
    raise AssertionError(f"nothing was stored in {SECONDS} s: {text}")


@pytest.mark.parametrize("flavour", STARTS)
def test_a_product_goes_on_or_fails_when_a_rank_is_killed(slurm: Slurm, tmp_path: Path, flavour: str) -> None:
    mpis = [found for _, python in candidates() if isinstance(found := usable(python), Mpi)]
    mpi = next((found for found in mpis if found.flavour == flavour), None)
    if mpi is None:
        pytest.skip(f"no Python with {flavour} here: tests/run.sh makes both")
    random = np.random.default_rng(0)
    X, W = random.standard_normal((60, 6)), random.standard_normal((6, 2000))
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "W.npy", W)
    before, ranks = STARTS[flavour]
    script = tmp_path / "product.sh"
    script.write_text(
        "#!/bin/bash\n#SBATCH --nodes=3 --ntasks=4 --time=2 --output=%x-%j.log\n"
        f"{before}{mpi.python} -u -m coded_mr linear elastic X.npy W.npy -o Y.npy {ranks} --signals\n"
    )
    job = slurm.submit(script, cwd=tmp_path, env=CROWDED)
    os.kill(started(slurm, job)[2], signal.SIGKILL)
    ended = slurm.ended(job)
    if mpi.launcher.survives:
        assert (ended.state, ended.status) == ("COMPLETED", 0), ended.output
        assert "rank 2 on " in ended.output
        assert np.allclose(np.load(tmp_path / "Y.npy"), X @ W, rtol=0, atol=1e-9)
    else:
        assert ended.state == "FAILED", ended.output
        assert ended.status != 0
        assert not (tmp_path / "Y.npy").exists()
