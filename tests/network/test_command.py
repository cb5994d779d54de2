"""The command on a real emulated cluster: it measures, goes on where it stopped, and cleans up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.cluster import lacking
from benchmarks.network.records import Link, Run, load
from benchmarks.network.settings import SETTINGS, quick
from tests.mpi.interpreters import Mpi, usable

SMALL = quick(next(setting for setting in SETTINGS if setting.name == "bus-8-terasort"))


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """Return an empty directory for temporary files, where there can be a cluster and there is MPI."""
    found = usable(sys.executable)
    reason = lacking(bus=True) if isinstance(found, Mpi) else found
    if reason is not None:
        pytest.skip(reason)
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


def command(scratch: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.network", *words],
        env={**os.environ, "TMPDIR": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def left_running(scratch: Path) -> list[str]:
    """Return the command lines of processes that name the directory."""
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = process.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        found += [line] * (str(scratch) in line)
    return found


def test_a_setting_is_measured_and_not_measured_again(scratch: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    words = ["--quick", "--only", SMALL.name, "-o", str(results)]
    with command(scratch, *words) as process:
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    records = load(results / "network.jsonl")
    runs = [record for record in records if isinstance(record, Run)]
    assert [run.rival for run in runs] == [rival.name for rival in SMALL.rivals]
    (link,) = (record for record in records if isinstance(record, Link))
    assert 0 < link.rate < SMALL.rate * 1e6 / 8
    for run in runs:
        assert run.intermediate == SMALL.size * 1e6
        assert run.wire > run.coded
        assert run.total >= max(run.map, run.shuffle, run.reduce) > 0
    dropping = next(run for run in runs if "20% lost" in run.rival)
    assert dropping.repairs > 0
    assert f"{len(runs)}\nruns, none wrong" in (results / "network.md").read_text()
    assert (results / "network.md").read_text() in out
    assert (results / "network.svg").exists()
    with command(scratch, *words) as again:
        out, err = again.communicate(timeout=60)
    assert again.returncode == 0, err
    assert load(results / "network.jsonl") == records
    assert list(scratch.iterdir()) == left_running(scratch) == []


def test_no_cluster_survives_a_command_that_is_ended(scratch: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    with command(scratch, "--quick", "--only", SMALL.name, "-o", str(results)) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "round 1" in line:
                break
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 143
    assert list(scratch.iterdir()) == left_running(scratch) == []


def test_what_does_not_exist_is_refused_and_what_exists_named() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.network", "--only", "bus-9-terasort"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "there is no setting bus-9-terasort" in done.stderr
    assert "bus-8-terasort" in done.stderr
