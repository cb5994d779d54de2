"""The command line: one command each to make, use and take down a cluster, and clean errors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.cluster import lacking


def command(state: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.cluster", "--state", str(state), *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_without_a_cluster_there_is_nothing_to_use_or_take_down(tmp_path: Path) -> None:
    state = tmp_path / "none"
    assert command(state, "destroy").returncode == 0
    for words in (["bytes"], ["run", "h1", "true"], ["mpirun", "true"], ["crash", "h1"]):
        done = command(state, *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert "create it first" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_mode_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    assert command(tmp_path / "none", "create", "--mode", "ring").returncode == 2


def test_make_use_crash_and_take_down(tmp_path: Path) -> None:
    reason = lacking(bus=True)
    if reason is not None:
        pytest.skip(reason)
    state = tmp_path / "cluster"
    try:
        made = command(state, "create", "-n", "2", "-m", "bus", "-r", "50mbit")
        assert made.returncode == 0, made.stderr
        assert made.stdout == "2 hosts, bus at 50mbit: head, h1, h2\n"
        assert command(state, "run", "h2", "hostname").stdout == "h2\n"
        assert command(state, "run", "h2", "sh", "-c", "exit 7").returncode == 7
        links = json.loads(command(state, "bytes", "--json").stdout)
        assert {(tail, head) for tail, head, _ in links} == {
            *((host, "switch") for host in ("h1", "h2", "head")),
            *(("switch", host) for host in ("h1", "h2", "head")),
            ("bus", "bus"),
        }
        assert command(state, "crash", "h2").returncode == 0
        assert "is down" in command(state, "run", "h2", "hostname").stderr
        assert command(state, "run", "h1", "hostname").stdout == "h1\n"
    finally:
        assert command(state, "destroy").stdout == "destroyed\n"
    assert not state.exists()
