"""The same jobs in one process, on one rank and on five: every byte of the output is the same."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from coded_mr.cli.run import Run
from coded_mr.cli.world import read
from coded_mr.doctor.rehearsal import rehearse
from tests.mpi.interpreters import Mpi
from tests.samples import PARTITIONS, RANKS, SAMPLES, Sample, sample

LIMIT = 60


@pytest.fixture(params=SAMPLES)
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Sample:
    found = sample(request.param)
    found.write(tmp_path / "in")
    return found


def test_in_one_process_without_mpi(job: Sample, tmp_path: Path) -> None:
    _, built = read(Run(), job.words(tmp_path / "in", tmp_path / "out"))
    assert tuple(rehearse(built, [str(tmp_path / "in")], partitions=PARTITIONS)) == job.parts


@pytest.mark.parametrize(
    ("job", "ranks"), [("streaming", 1), *((name, RANKS) for name in SAMPLES)], indirect=["job"]
)
def test_on_ranks_that_coded_mr_starts(mpi: Mpi, job: Sample, tmp_path: Path, ranks: int) -> None:
    words = job.words(tmp_path / "in", tmp_path / "out")
    if ranks < RANKS:
        words = words[: words.index("-r")]
    done = subprocess.run(
        ["timeout", "-k", "5", str(LIMIT), mpi.python, "-m", "coded_mr", "run", *words, "-n", str(ranks)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    job.check(tmp_path / "out", as_planned=ranks == RANKS)


@pytest.mark.parametrize("job", ["streaming"], indirect=True)
def test_on_the_ranks_of_a_launcher(mpi: Mpi, job: Sample, tmp_path: Path) -> None:
    words = job.words(tmp_path / "in", tmp_path / "out")
    command = ["env", "-u", "CODED_MR_JOB_ID", mpi.python, "-m", "coded_mr", "run", *words]
    done = mpi.run(RANKS, command, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    job.check(tmp_path / "out")
