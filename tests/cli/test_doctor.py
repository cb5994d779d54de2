"""`coded-mr doctor` where there is no MPI to start, or one that does not work."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from coded_mr.cli import main


@pytest.fixture
def launcher(tmp_path, monkeypatch):
    """Return a maker of launchers that do as they are told."""

    def make(body: str) -> Path:
        path = tmp_path / "mpirun"
        path.write_text(
            f'#!/bin/sh\nif [ "$1" = --version ]; then echo "Nobody\'s MPI 1.2"; exit; fi\n{body}\n'
        )
        path.chmod(0o755)
        monkeypatch.setenv("CODED_MR_MPIRUN", str(path))
        return path

    return make


def test_without_a_launcher_the_host_is_still_examined(monkeypatch, capsys):
    monkeypatch.setenv("CODED_MR_MPIRUN", "none-such")
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "ERROR    MPI cannot be started" in said
    assert "CODED_MR_MPIRUN=none-such is not an executable file" in said
    assert "1 rank on 1 host" in said


def test_a_launcher_that_fails_is_an_error(launcher, capsys):
    path = launcher("exit 213")
    assert main(["doctor"]) == 1
    assert f"ERROR    {path} failed with status 213" in capsys.readouterr().out


def test_a_launcher_that_hangs_is_stopped_and_told_of(launcher, tmp_path, capsys):
    launcher(f"echo $$ > {tmp_path}/pid; exec sleep 1000")
    assert main(["doctor", "--timeout", "1", "-n", "3"]) == 1
    assert "3 ranks under" in (said := capsys.readouterr().out)
    assert "have not ended after 1 s" in said
    pid = int((tmp_path / "pid").read_text())
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists():
            break
        time.sleep(0.01)
    assert not Path(f"/proc/{pid}").exists()


def test_it_starts_as_many_ranks_as_it_is_told(launcher, tmp_path, capsys):
    launcher(f'printf "%s" "$*" > {tmp_path}/words')
    assert main(["doctor", "-n", "3", "a.py"]) == 0
    assert (tmp_path / "words").read_text() == f"-n 3 {sys.executable} -m coded_mr doctor a.py"


def test_the_job_is_loaded_even_without_mpi(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "coded_mr", "doctor", str(tmp_path / "absent.py")],
        env={**os.environ, "CODED_MR_MPIRUN": "none-such"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "there is no such file" in done.stdout


def test_a_rank_whose_mpi_does_not_load_says_so(tmp_path):
    (tmp_path / "mpi4py").mkdir()
    (tmp_path / "mpi4py" / "__init__.py").write_text("")
    (tmp_path / "mpi4py" / "MPI.py").write_text("raise RuntimeError('cannot load MPI library')")
    command = [sys.executable, "-m", "coded_mr", "doctor"]
    said = {}
    for rank in ("0", "1"):
        env = {**os.environ, "PYTHONPATH": str(tmp_path), "PMI_SIZE": "2", "PMI_RANK": rank}
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 1, done.stderr
        said[rank] = done.stdout
    assert "ERROR    mpi4py does not load: cannot load MPI library" in said["0"]
    assert said["1"] == ""
