"""`--topology` on real worlds: ranks that the network has, and ranks that it has not."""

from __future__ import annotations

import json
import socket
import subprocess
from pathlib import Path

import pytest

from tests.mpi.interpreters import Mpi

TOP = Path(__file__).parents[2]


def coded_mr(mpi: Mpi, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["timeout", "-k", "5", "60", mpi.python, "-m", "coded_mr", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=TOP)


@pytest.fixture
def network(tmp_path: Path) -> str:
    path = tmp_path / "network.conf"
    path.write_text(f"SwitchName=s1 Nodes={socket.gethostname()},other\nSwitchName=s2 Switches=s1\n")
    return str(path)


def test_a_job_on_one_host_relays_and_says_that_no_line_is_loaded(
    mpi: Mpi, network: str, tmp_path: Path
) -> None:
    out, report = tmp_path / "out", tmp_path / "report.json"
    words = ["run", "jobs/wordcount.py", "README.md", "-o", str(out), "-n", "4", "-p", "3", "-r", "2"]
    done = coded_mr(mpi, *words, "--topology", network, "--transport", "relay", "--json", str(report))
    assert done.returncode == 0, done.stderr
    assert "by transport `relay`" in done.stdout
    assert "network   loads, if switches multicast: nothing between hosts" in done.stdout
    found = json.loads(report.read_text())
    assert (found["transport"], found["network"]["total"]) == ("relay", "0")
    assert found["network"]["busiest_from"] is None


def test_a_host_that_the_network_has_not_ends_the_job(mpi: Mpi, tmp_path: Path) -> None:
    network, out = tmp_path / "network.conf", tmp_path / "out"
    network.write_text("SwitchName=s1 Nodes=elsewhere[1-9]\n")
    words = ["jobs/wordcount.py", "README.md", "-o", str(out), "-n", "3"]
    done = coded_mr(mpi, "run", *words, "--topology", str(network))
    assert done.returncode != 0
    host = socket.gethostname()
    assert done.stderr.count(f"the topology has no host for rank 0 on {host}, rank 1 on {host}") == 1
    assert "it knows elsewhere1, elsewhere2" in done.stderr
    assert not out.exists()
    done = coded_mr(mpi, "doctor", "--topology", str(network))
    assert done.returncode == 1
    assert f"ERROR    --topology {network} does not help" in done.stdout


def test_doctor_shows_the_switches_above_every_host(mpi: Mpi, network: str) -> None:
    done = coded_mr(mpi, "doctor", "-n", "3", "--topology", network)
    assert done.returncode == 0, done.stdout + done.stderr
    host = socket.gethostname()
    assert f"1 host of 2 at 2 switches; {host} below s1 below s2: ranks 0, 1, 2" in done.stdout
