"""Coded products on several hosts, one of whose ranks is killed, or a host dies."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks.cluster import Cluster, enter, job, star
from benchmarks.cluster.launching import environment
from tests.mpi.interpreters import Mpi

Make = Callable[..., Cluster]

TOP = Path(__file__).parents[2]
SURVIVORS = TOP / "tests" / "mpi" / "survivors.py"
LIMIT = ("timeout", "-k", "5", "90")


@pytest.mark.parametrize("moment", ["map", "shuffle", "matvec", "elastic"])
def test_products_go_on_without_a_rank_on_another_host(emulated: Make, mpi: Mpi, moment: str) -> None:
    if not mpi.launcher.survives:
        pytest.skip(f"{mpi.flavour} {mpi.launcher.version} ends all ranks when one dies: needs Open MPI 5")
    cluster = emulated(star(4, "none"), rate=None)
    words = [mpi.python, "-m", "mpi4py", str(SURVIVORS), moment, "1", "2"]
    done = subprocess.run(
        [*LIMIT, *job(cluster, mpi.launcher, 4, words, spread=True, survive=True)],
        env=environment() | {"PYTHONPATH": str(TOP)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "absent 2\n"), done.stderr
    assert "rank 2 on h3 died" in done.stderr


def test_the_command_goes_on_or_fails_when_a_rank_on_another_host_is_killed(
    emulated: Make, mpi: Mpi, tmp_path: Path
) -> None:
    cluster = emulated(star(4, "none"), rate=None)
    random = np.random.default_rng(0)
    X, W = random.standard_normal((60, 6)), random.standard_normal((6, 1500))
    files = {name: str(tmp_path / f"{name}.npy") for name in "XWY"}
    np.save(files["X"], X)
    np.save(files["W"], W)
    command = [mpi.python, "-m", "coded_mr", "linear", "elastic", files["X"], files["W"]]
    words = [*command, "-o", files["Y"], "--signals"]
    with subprocess.Popen(
        [*LIMIT, *job(cluster, mpi.launcher, 4, words, spread=True, survive=True)],
        env=environment({**os.environ, "PYTHONPATH": str(TOP)}),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stderr is not None
        places = (re.search(r"machine 2: process (\d+) on h3;", line) for line in process.stderr)
        place = next(filter(None, places), None)
        assert place, "nothing was computed"
        subprocess.run(enter(cluster, "h3", ["kill", "-KILL", place[1]]), check=True)
        out, err = process.communicate()
    if mpi.launcher.survives:
        assert process.returncode == 0, err
        assert "rank 2 on h3 died" in err
        assert np.allclose(np.load(files["Y"]), X @ W, rtol=0, atol=1e-9)
    else:
        assert process.returncode not in (0, 124), out + err
        assert not Path(files["Y"]).exists()
