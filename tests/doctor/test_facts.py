"""What a rank finds out about its host agrees with what the system says."""

from __future__ import annotations

import os
import pickle
import resource
import shutil
import socket
import subprocess
import sys
import zlib
from functools import partial
from pathlib import Path

import pytest

import coded_mr
from coded_mr.cli.jobs import job_files
from coded_mr.doctor import facts as module
from coded_mr.doctor.facts import gather_facts

WORDCOUNT = Path(__file__).parents[2] / "jobs" / "wordcount.py"


def test_this_host_is_described_as_the_system_does():
    facts = gather_facts(3, None, None)
    assert (facts.rank, facts.host, facts.mpi, facts.job) == (3, socket.gethostname(), None, None)
    assert set(facts.processors) == os.sched_getaffinity(0)
    assert dict(facts.versions)["coded_mr"] == coded_mr.__version__
    assert facts.scratch.total == shutil.disk_usage(facts.scratch.path).total
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert facts.open_files == (None if soft == resource.RLIM_INFINITY else soft)
    assert pickle.loads(pickle.dumps(facts)) == facts


@pytest.mark.parametrize("spec", [str(WORDCOUNT), f"{WORDCOUNT}:WordCount"])
def test_a_job_is_identified_by_its_file(spec):
    facts = gather_facts(0, None, partial(job_files, [spec]))
    assert facts.job == zlib.crc32(WORDCOUNT.read_bytes())
    assert facts.job_problem is None


def test_a_job_that_does_not_load_says_why(tmp_path):
    facts = gather_facts(0, None, partial(job_files, [str(tmp_path / "absent.py")]))
    assert facts.job is None
    assert "there is no such file" in str(facts.job_problem)


def test_a_scratch_directory_that_is_not_there_is_a_problem(tmp_path):
    absent = tmp_path / "absent"
    found = module._space(str(absent))
    assert found.problem == f"{absent}: No such file or directory"


def test_interfaces_are_those_that_are_up(tmp_path, monkeypatch):
    for name, state, speed in [
        ("lo", "unknown", ""),
        ("e1", "up", "1000"),
        ("e2", "down", ""),
        ("e3", "unknown", "-1"),
    ]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "operstate").write_text(f"{state}\n")
        (tmp_path / name / "speed").write_text(f"{speed}\n")
    monkeypatch.setattr(module, "_NET", tmp_path)
    assert [(i.name, i.address, i.speed) for i in module._interfaces()] == [
        ("e1", None, 1000),
        ("e3", None, None),
    ]


def test_the_address_of_the_loopback_is_known():
    assert module._address("lo") == "127.0.0.1"
    assert module._address("none-such") is None


def test_limits_of_a_process_are_seen():
    program = (
        "import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (99, 99));"
        "r.setrlimit(r.RLIMIT_FSIZE, (8192, 8192));"
        "from coded_mr.doctor.facts import gather_facts; f = gather_facts(0, None, None);"
        "print(f.open_files, f.file_bytes)"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["99", "8192"]


def test_multicast_that_is_forbidden_is_a_problem_and_not_a_crash(monkeypatch):
    class Deaf(socket.socket):
        def setsockopt(self, *arguments):
            raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(module.socket, "socket", Deaf)
    assert module._multicast() == "Operation not permitted"
