"""`coded-mr new`: a job that works as it is written, and never at the cost of another file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from coded_mr.cli import main

TOP = Path(__file__).parents[2]


@pytest.mark.parametrize(("file", "name"), [("myjob.py", "Myjob"), ("count_words.py", "CountWords")])
def test_the_job_runs_and_its_test_passes(tmp_path, capsys, file, name):
    job = tmp_path / file
    assert main(["new", str(job)]) == 0
    assert f"coded-mr check {job}" in capsys.readouterr().out
    assert f"class {name}(Job)" in job.read_text()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:pytest_mpi"]
    done = subprocess.run(
        [*command, "--rootdir", str(tmp_path), str(tmp_path / f"test_{file}")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(TOP)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
    (tmp_path / "text").write_text("some words of some length\n")
    assert main(["check", str(job), str(tmp_path / "text"), "--shortest", "5"]) == 0
    assert "  words\t1\n" in capsys.readouterr().out


@pytest.mark.parametrize("there", ["myjob.py", "test_myjob.py"])
def test_what_exists_is_not_replaced(tmp_path, capsys, there):
    (tmp_path / there).write_text("mine")
    assert main(["new", str(tmp_path / "myjob.py")]) == 2
    assert "it exists" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_text() == "mine"


@pytest.mark.parametrize("file", ["my-job.py", "myjob.txt", "class.py", "1.py"])
def test_a_file_that_cannot_be_imported_is_refused(tmp_path, capsys, file):
    assert main(["new", str(tmp_path / file)]) == 2
    assert "cannot be imported" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
