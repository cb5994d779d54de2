"""`--topology` without MPI: the plan's places in a network, and files that cannot be used."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from coded_mr.cli import main
from coded_mr.errors import CodedMRError
from coded_mr.plan.schemes import solver_helper
from coded_mr.topology import Sites, place, read_topology
from coded_mr.topology.source import SLURM

TOP = Path(__file__).parents[2]
PLAN = ["plan", "-p", "8", "-r", "2", "--helpers", "4", "--scheme", "solver-helper", "--costs", "1,2,1"]


@pytest.fixture
def network(tmp_path: Path) -> str:
    path = tmp_path / "network.conf"
    path.write_text(
        "SwitchName=s1 Nodes=h[1-4]\nSwitchName=s2 Nodes=h[5-12]\nSwitchName=core Switches=s[1-2]\n"
    )
    return str(path)


def test_plan_places_its_parts_on_the_hosts_of_a_network(
    network: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*PLAN, "--topology", network, "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)["network"]
    tree = read_topology(network)
    assert tree is not None
    meant = place(solver_helper(8, 8, 2, 4), Sites(tree, tree.hosts))
    assert found == meant.to_dict()
    assert Fraction(found["total"]) < Fraction(found["total_as_numbered"])
    assert main([*PLAN, "--topology", network]) == 0
    text = capsys.readouterr().out
    assert "parts moved; as numbered" in text
    assert f"parts 0, 1, ... at ranks {', '.join(map(str, meant.ranks))}" in text


def test_more_ranks_than_hosts_share_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one").write_text("SwitchName=s1 Nodes=h1,h2\n")
    assert main([*PLAN, "--topology", str(tmp_path / "one"), "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)["network"]
    assert {found["busiest_from"], found["busiest_to"]} <= {"s1", "h1", "h2"}
    assert sorted(found["parts"]) == list(range(12))


def test_without_a_topology_there_is_no_network(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PLAN, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["network"] is None


@pytest.mark.parametrize("command", ["plan", "run", "doctor"])
@pytest.mark.parametrize(
    ("text", "complaint"), [(None, "cannot read the topology"), ("SwitchName=a Switches=a\n", "in a circle")]
)
def test_files_that_cannot_be_used_are_refused_at_once(
    command: str, text: str | None, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "network.conf"
    if text is not None:
        path.write_text(text)
    words = {
        "plan": PLAN,
        "run": [
            "run",
            str(TOP / "jobs" / "wordcount.py"),
            str(TOP / "README.md"),
            "-o",
            str(tmp_path / "out"),
        ],
        "doctor": ["doctor"],
    }
    assert main([*words[command], "--topology", str(path)]) == 2
    assert complaint in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def scontrol(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a program of that name first on the path."""
    program = folder / "scontrol"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_slurm_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = "SwitchName=s0 Level=0 Nodes=n[1-3]\nSwitchName=s1 Level=1 Nodes=n[1-3] Switches=s0"
    scontrol(tmp_path, f'[ "$*" = "show topology" ] && echo "{lines}"', monkeypatch)
    tree = read_topology(SLURM)
    assert tree is not None
    assert tree.climb("n2") == ("n2", "s0", "s1")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[2-3]")
    assert main([*PLAN, "--topology", SLURM, "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)["network"]
    assert "n1" not in (found["busiest_from"], found["busiest_to"])
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[2-4]")
    assert main([*PLAN, "--topology", SLURM]) == 2
    assert "n4 not among the 3 hosts" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("echo No topology information available", "no tree of switches .it says: No topology information"),
        ("echo cannot reach slurmctld >&2; exit 1", "failed: cannot reach slurmctld"),
    ],
)
def test_a_slurm_that_does_not_tell_is_quoted(
    script: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scontrol(tmp_path, script, monkeypatch)
    with pytest.raises(CodedMRError, match=f"{complaint}.*--topology FILE"):
        read_topology(SLURM)


def test_without_slurm_the_plan_cannot_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert read_topology(SLURM) is None
    assert main([*PLAN, "--topology", SLURM]) == 2
    assert "no scontrol here" in capsys.readouterr().err
