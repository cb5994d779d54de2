"""Commands as mapper and reducer on real ranks: failures, silence, and nothing left running."""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.mpi.interpreters import Mpi

TOP = Path(__file__).parents[2]
LIMIT = 40


def coded_mr(mpi: Mpi, folder: Path, command: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["timeout", "-k", "5", str(LIMIT), mpi.python, "-m", "coded_mr", command, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(TOP)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    for name in "abcdef":
        (tmp_path / "in" / name).write_text(f"{name} 1\nline 2\n" * 50)
    return tmp_path


def script(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return f"./{name}"


def test_a_failing_mapper_ends_the_job_with_status_command_file_and_rank(mpi: Mpi, folder: Path) -> None:
    mapper = script(folder, "m.sh", 'echo noted >&2; case "$mapreduce_map_input_file" in *d) exit 4; esac')
    plan = ["-n", "3", "-r", "1", "--helpers", "0", "--scheme", "uncoded", "--costs", "1,1,1"]
    done = coded_mr(mpi, folder, "run", "--mapper", mapper, "in", "-o", "out", *plan)
    assert done.returncode == 1
    assert "the mapper `./m.sh` of in/d" in done.stderr
    assert "ended with status 4; it wrote:\n  noted\n" in done.stderr
    assert "coded-mr: rank " in done.stderr
    assert not (folder / "out").exists()


def test_a_good_run_says_nothing_of_what_its_commands_wrote_to_standard_error(mpi: Mpi, folder: Path) -> None:
    words = ["--mapper", "sh -c 'echo noted >&2; head -n 1'", "in", "-o", "out", "-n", "3", "-p", "1", "-q"]
    done = coded_mr(mpi, folder, "run", *words)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (folder / "out" / "part-00000").read_text().splitlines().count("line 2") < 7


def test_a_mapper_that_differs_between_ranks_is_found_with_its_file(mpi: Mpi, folder: Path) -> None:
    mapper = script(folder, "m.sh", 'case "$mapreduce_map_input_file" in *b) echo $$;; *) cat;; esac')
    plan = ["-n", "4", "-p", "3", "-r", "2", "--costs", "1,1,1"]
    done = coded_mr(mpi, folder, "run", "--mapper", mapper, "in", "-o", "out", *plan)
    assert done.returncode == 1
    assert "mapped in/b" in done.stderr
    assert not (folder / "out").exists()


def test_no_mapper_outlives_a_job_that_failed_elsewhere(mpi: Mpi, folder: Path) -> None:
    text = 'case "$mapreduce_map_input_file" in *a) sleep 1; touch "$MARK"; exit 1;; esac; sleep 300'
    mark = folder / "failed"
    words = ["run", "--mapper", script(folder, "m.sh", text), "in", "-o", "out", "--costs", "1,1,1"]
    command = ["env", "-u", "CODED_MR_JOB_ID", f"MARK={mark}", mpi.python, "-m", "coded_mr", *words]
    done = mpi.run(3, command, cwd=folder, timeout=LIMIT)
    assert done.returncode != 0
    assert mark.exists()
    time.sleep(0.5)  # the launcher ends before what it has killed
    assert not marked(mark)


def marked(mark: Path) -> list[str]:
    """Return the processes that have the mark in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if f"MARK={mark}".encode() in path.read_bytes().split(b"\0"):
                found.append(path.parent.name)
    return found


def test_a_command_that_is_missing_is_named_before_mpi_starts(mpi: Mpi, folder: Path) -> None:
    for command in ("run", "calibrate", "compare"):
        output = ["-o", "out"] if command == "run" else []
        done = coded_mr(mpi, folder, command, "--mapper", "cat", "--reducer", "no-such", "in", *output)
        assert done.returncode == 2
        assert done.stderr.startswith(
            "coded-mr: StreamingJob does not accept its parameters: the reducer `no-such`"
        )


def test_commands_are_calibrated_checked_and_examined_like_any_job(mpi: Mpi, folder: Path) -> None:
    job = ["--mapper", "cat", "--reducer", "uniq", "--combiner", "sort -u"]
    done = coded_mr(mpi, folder, "calibrate", *job, "in", "-n", "3")
    assert (done.returncode, "--costs " in done.stdout) == (0, True), done.stderr
    reducer = script(folder, "r.sh", "wc -l")
    done = coded_mr(mpi, folder, "doctor", "--mapper", "cat", "--reducer", reducer)
    assert "its files are the same on every rank" in done.stdout
    done = coded_mr(mpi, folder, "check", *job, "in")
    assert "reduce gives the same with combine and without" in done.stdout
    assert "a second map of 6 files gave the same bytes" in done.stdout
