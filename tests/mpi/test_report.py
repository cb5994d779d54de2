"""The report of a real run: documented field by field, and shown; progress, when a run is long."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coded_mr.report.document import load
from coded_mr.report.page import build_page
from tests.mpi.interpreters import Mpi

TOP = Path(__file__).parents[2]
SLOW = """
import time
from coded_mr import InputFile, Job

class Slow(Job):
    whole_files = True

    def map(self, file: InputFile):
        time.sleep(0.7 if "late" in file.path else 0.01)
        yield file.name, 1

    def reduce(self, key, values):
        yield key, sum(values)
"""


def run(
    mpi: Mpi, folder: Path, *words: str, job: tuple[str, ...] = ("slow.py",), **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a job that takes its time on the files whose name says so."""
    (folder / "slow.py").write_text(SLOW)
    (folder / "in").mkdir(exist_ok=True)
    command = [mpi.python, "-m", "coded_mr", "run", *job, "in", "-o", "out", "--overwrite", "-p", "2"]
    return subprocess.run(
        [*command, "-n", "2", "--costs", "1,1,1", "--scheme", "uncoded", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(TOP), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )


def inputs(folder: Path, names: list[str]) -> None:
    (folder / "in").mkdir()
    for name in names:
        (folder / "in" / name).write_text("text\n")


def fields(value: Any, path: str = "") -> Iterator[str]:
    """Yield the documented name of every leaf; what is keyed by names or numbers from outside is one leaf."""
    keyed = ("versions", "hosts", "profile", "parameters", "machine.map_slots", "machine.reduce_slots")
    if isinstance(value, dict) and path not in keyed:
        for key, inner in value.items():
            place = f"{path}.{key}" if path else key
            if path == "spreads":
                yield place
                place = "spreads.*"
            yield from fields(inner, place)
    elif isinstance(value, list):
        for inner in value:
            yield from fields(inner, f"{path}[]")
    else:
        yield path


def test_every_field_of_a_report_is_documented_and_no_other(mpi: Mpi, tmp_path: Path) -> None:
    inputs(tmp_path, ["a", "b"])
    (tmp_path / "network.conf").write_text(f"SwitchName=s1 Nodes={socket.gethostname()}\n")
    run(mpi, tmp_path, "--json", "run.json", "--topology", "network.conf")
    text = (TOP / "docs" / "run-report.md").read_text(encoding="utf-8")
    documented = re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)
    assert len(documented) == len(set(documented))
    assert set(documented) == set(fields(json.loads((tmp_path / "run.json").read_text())))


def test_a_report_names_what_another_run_would_need(mpi: Mpi, tmp_path: Path) -> None:
    inputs(tmp_path, ["a", "b"])
    run(mpi, tmp_path, "--json", "run.json", "--mapper", "cat", job=(), PYTHONHASHSEED="7")
    report = json.loads((tmp_path / "run.json").read_text())
    commands = {"mapper": "cat", "reducer": None, "combiner": None, "add_tabs": False}
    assert (report["parameters"], report["inputs"]) == (commands, ["in"])
    assert report["seeds"] == {"python_hash": "7"}


def test_the_page_of_a_real_run_has_its_numbers(mpi: Mpi, tmp_path: Path) -> None:
    inputs(tmp_path, ["a", "b"])
    run(mpi, tmp_path, "--json", "run.json")
    report = load(str(tmp_path / "run.json"))
    assert [len(rank.stages) for rank in report.ranks] == [5, 5]
    assert report.versions["mpi"]
    assert sum(map(len, report.hosts.values())) == 2
    assert report.job_id in build_page(report)


@pytest.mark.parametrize("more", [[], ["--implementation", "parallel"]], ids=["sequential", "parallel"])
def test_a_long_run_shows_how_far_it_is_and_a_quiet_one_does_not(
    mpi: Mpi, tmp_path: Path, more: list[str]
) -> None:
    inputs(tmp_path, [f"{number}-late" for number in range(8)])
    done = run(mpi, tmp_path, *more)
    assert re.search(r"coded-mr: map \d+%.*: \d of 8 mappings, ", done.stderr)
    quiet = run(mpi, tmp_path, *more, "-q")
    assert (quiet.stdout, "coded-mr:" in quiet.stderr) == ("", False)
