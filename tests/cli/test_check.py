"""`coded-mr check`: what a job must keep to, found on a sample in one process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from coded_mr.cli import main

TOP = Path(__file__).parents[2]
JOB = """
import random
from coded_mr import Job

class Tried(Job):
    def map(self, file):
        for word in {words}:
            yield word, {value}
    {combine}
    def reduce(self, key, values):
        yield key, {total}
"""
SUM = "def combine(self, key, values): return {}"
WORDS = "(word for line in file.lines() for word in line.split())"


@pytest.fixture
def check(tmp_path, capsys):
    """Return what check says of a job made of some expressions, and its status."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_text("".join(f"a b c w{n % 17}\n" for n in range(200)))
    (tmp_path / "in" / "b").write_text("a a c\n" * 50)

    def run(*, words=WORDS, value="1", combine="", total="sum(values)") -> tuple[int, str]:
        job = tmp_path / "job.py"
        job.write_text(JOB.format(words=words, value=value, combine=combine, total=total))
        status = main(["check", str(job), str(tmp_path / "in")])
        printed = capsys.readouterr()
        return status, printed.out + printed.err

    return run


def test_a_good_job_passes_and_shows_its_output(check):
    status, said = check(combine=SUM.format("sum(values)"))
    assert status == 0, said
    assert "gave the same bytes\n" in said
    assert "another process, with another hash seed, gave the same bytes too" in said
    assert "reduce gives the same with combine and without" in said
    assert "output   20 lines" in said
    assert "  a\t300\n" in said
    for stage in ("read", "map", "reduce"):
        assert f"{stage} 0." in said


def test_a_map_that_draws_random_numbers_is_found_with_its_key(check):
    status, said = check(value="random.random()")
    assert status == 1
    assert "two maps of" in said
    assert "differ at ('a', 0." in said


def test_a_map_that_depends_on_the_hash_seed_is_found_in_another_process(check):
    status, said = check(
        words="[1]", value="'-'.join({w for line in file.lines() for w in line.split()})", total="len(values)"
    )
    assert status == 1
    assert "gave the same bytes\n" in said
    assert "another process maps" in said


def test_a_map_that_remembers_earlier_calls_is_found(check):
    status, said = check(value="self.__dict__.setdefault('calls', []).append(0) or len(self.calls)")
    assert status == 1
    assert "two maps of" in said


@pytest.mark.parametrize(
    ("combine", "total"),
    [("sum(values) + 1", "sum(values)"), ("max(values)", "sum(values)"), ("sum(values)", "len(values)")],
)
def test_a_combine_that_changes_the_result_is_found(check, combine, total):
    status, said = check(combine=SUM.format(combine), total=total)
    assert status == 1
    assert "without combine" in said
    assert "combine must return one value" in said


def test_sums_of_floats_that_differ_in_the_last_digits_are_a_warning(check):
    status, said = check(value="0.1", combine=SUM.format("sum(values)"))
    assert status == 0
    assert "warning  combine changes the last digits" in said


def test_a_job_that_maps_nothing_is_a_warning(check):
    status, said = check(words="[]")
    assert status == 0
    assert "warning  map gave nothing" in said


def test_an_exception_shows_the_users_line_and_the_record(check):
    status, said = check(words="[w for line in file.lines() for w in [line.split()[3]]]")
    assert status == 1
    assert "IndexError: list index out of range" in said
    assert "in map\n" in said


def test_an_input_that_changes_meanwhile_is_told_apart_from_a_bad_job(check):
    words = "[__import__('os').utime(file.path, (9e9, 9e9)) or 'a']"
    status, said = check(words=words)
    assert status == 1
    assert "changed while the job was being checked" in said
    assert "two maps" not in said


def test_records_are_checked_too(tmp_path, capsys):
    data = tmp_path / "data.bin"
    assert main(["generate", "terasort", str(data), "-n", "1000"]) == 0
    assert main(["check", str(TOP / "jobs" / "terasort.py"), str(data), "-p", "4"]) == 0
    said = capsys.readouterr().out
    assert "output   1,000 records, 100.00 KB" in said
    assert "gave the same bytes too" in said


def test_only_a_sample_is_read(tmp_path, capsys):
    for number in range(50):
        (tmp_path / f"{number:02}").write_text(f"{number}\n" * 100)
    assert main(["check", str(TOP / "jobs" / "wordcount.py"), str(tmp_path), "--bytes", "1000"]) == 0
    said = capsys.readouterr().out
    assert "  00\t" not in said
    assert "output   4 lines" in said or "output   5 lines" in said


def test_a_breakpoint_in_map_opens_the_debugger(tmp_path):
    (tmp_path / "in").write_text("a\n")
    job = tmp_path / "job.py"
    job.write_text(JOB.format(words="[breakpoint() or 'a']", value="1", combine="", total="sum(values)"))
    done = subprocess.run(
        [sys.executable, "-m", "coded_mr", "check", str(job), str(tmp_path / "in")],
        input="p 'in map of ' + file.path\n" + "c\n" * 20,
        env={**os.environ, "PYTHONPATH": str(TOP)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert f"in map of {tmp_path / 'in'}" in done.stdout
    assert done.returncode == 0, done.stderr
