"""What is missing is said, with the remedy, before anything is made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.cluster import ClusterError, create, lacking, star

PROGRAMS = ("ip", "tc", "unshare", "nsenter", "setsid")


def provide(directory: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for program in PROGRAMS:
        (directory / program).write_text(f"#!/bin/sh\n{script}\n")
        (directory / program).chmod(0o755)
    monkeypatch.setenv("PATH", str(directory))


def test_missing_programs_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "there is no ip" in str(lacking())
    with pytest.raises(ClusterError, match="iproute2"):
        create(tmp_path / "cluster", star(2, "switch"), "100mbit")
    assert not (tmp_path / "cluster").exists()


def test_missing_rights_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    provide(tmp_path, "exit 0", monkeypatch)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "root" in str(lacking())
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert lacking() is None


def test_what_a_trial_complains_of_is_the_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    provide(tmp_path, "echo Operation not permitted >&2; exit 1", monkeypatch)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "Operation not permitted" in str(lacking(bus=True))
