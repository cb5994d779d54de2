"""Every scheme and both implementations run real jobs to the same result as a plain loop."""

from __future__ import annotations

import dataclasses
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI
from numpy.typing import NDArray

from coded_mr import RecordJob
from coded_mr.engine.runner import Order, run_order
from coded_mr.engine.shuffle import Limits
from coded_mr.io.output import verify_output
from coded_mr.jobfile import load_job
from coded_mr.plan.planner import SCHEMES, Request, decide
from coded_mr.terasort.kinds import make_records
from coded_mr.terasort.validate import checksum_of, validate
from coded_mr.theory.costs import Costs
from coded_mr.theory.tradeoff import cascaded_load

pytestmark = pytest.mark.mpi

SIZES = (4, 8)

TOP = Path(__file__).parents[3]
RANKS = MPI.COMM_WORLD.size


class Even(RecordJob):
    """Deal records round, so that all values of a batch are of equal size."""

    record_bytes = 12

    def partition(self, records: NDArray[np.uint8], partitions: int) -> NDArray[np.int64]:
        return np.arange(len(records)) % partitions


def run(job: str | RecordJob, inputs: list[Path], output: Path, request: Request, **options: Any):
    order = Order(
        job=load_job(str(TOP / "jobs" / job))() if isinstance(job, str) else job,
        job_name=str(job),
        inputs=tuple(map(str, inputs)),
        output=str(output),
        request=request,
        job_id=output.name,
        **{"costs": Costs.parse("3,2,1"), **options},
    )
    return run_order(MPI.COMM_WORLD, order)


@pytest.mark.parametrize("implementation", ["sequential", "parallel"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_word_count_by_every_scheme(mpi_tmp_path: Path, scheme: Any, implementation: Any) -> None:
    if scheme == "cascaded":
        partitions, s = RANKS * (RANKS - 1) // 2, 2
    else:
        partitions, s = RANKS, 1
    if scheme == "solver-helper":
        partitions = RANKS // 2
    if scheme == "mixture":
        partitions = RANKS - 1
    narrow = Limits(packets=2, bytes=1000, chunk=100, groups=2, values=1)
    sources = sorted((TOP / "coded_mr" / "plan").glob("*.py"))
    request = Request(partitions, scheme=scheme, implementation=implementation, s=s)
    costs = Costs.parse("5,6,1")
    report = run("wordcount.py", sources, mpi_tmp_path / "out", request, limits=narrow, costs=costs)
    if MPI.COMM_WORLD.rank == 0:
        assert report is not None
        assert report.plan.scheme == scheme
        expected = Counter(word for path in sources for word in path.read_text().split())
        text = b"".join(path.read_bytes() for path in sorted((mpi_tmp_path / "out").glob("part-*"))).decode()
        rows = [line.split("\t") for line in text.split("\n")[:-1]]
        assert {word: int(count) for word, count in rows} == dict(expected)
        assert len(rows) == len(expected)
        verify_output(str(mpi_tmp_path / "out"))


@pytest.mark.parametrize("implementation", ["sequential", "parallel"])
@pytest.mark.parametrize("scheme", [scheme for scheme in SCHEMES if scheme != "mixture"])
def test_terasort_by_every_scheme_has_the_load_of_its_formula(
    mpi_tmp_path: Path, scheme: Any, implementation: Any
) -> None:
    data = mpi_tmp_path / "data"
    records = 20_000
    if MPI.COMM_WORLD.rank == 0:
        data.write_bytes(make_records("uniform", 0, records).tobytes())
    MPI.COMM_WORLD.Barrier()
    s = 2 if scheme == "cascaded" else 1
    partitions = RANKS * (RANKS - 1) // 2 if s == 2 else RANKS // 2 if scheme == "solver-helper" else RANKS
    request = Request(partitions, scheme=scheme, implementation=implementation, s=s)
    report = run("terasort.py", [data], mpi_tmp_path / "out", request)
    if report is not None:
        found = validate([mpi_tmp_path / "out"])
        assert (found.sorted, found.records, found.checksum) == (True, records, checksum_of(data))
        chosen = report.decision.chosen
        assert report.verification.load == chosen.load
        # Values of equal size would give the formula exactly: what is beyond it is padding and headers.
        bare = report.coded_bytes - report.padding_bytes - report.header_bytes
        assert bare == pytest.approx(float(chosen.load) * report.intermediate_bytes, rel=0.12)
        if scheme == "cascaded":
            assert chosen.load == cascaded_load(RANKS, int(chosen.r), 2)
            assert sum(len(count.copies) for count in report.ranks) == partitions


@pytest.mark.parametrize("r", [1, 2, 3])
@pytest.mark.parametrize("scheme", ["solver-helper", "symmetric", "resolvable", "replicated", "uncoded"])
def test_values_of_equal_size_give_the_formula_to_the_byte(mpi_tmp_path: Path, scheme: Any, r: int) -> None:
    partitions = RANKS - 2 if scheme == "solver-helper" else RANKS
    request = Request(partitions, r=min(r, partitions), scheme=scheme)
    chosen = decide(dataclasses.replace(request, ranks=RANKS), Costs.parse("3,2,1")).chosen
    records = 10 * partitions * len(chosen.build().batches)
    data = mpi_tmp_path / "data"
    if MPI.COMM_WORLD.rank == 0:
        data.write_bytes(np.arange(3 * records, dtype=np.uint32).tobytes())
    MPI.COMM_WORLD.Barrier()
    report = run(Even(), [data], mpi_tmp_path / "out", request)
    if report is not None:
        payload = sum(count.traffic.sent_payload for count in report.ranks)
        assert report.intermediate_bytes == 12 * records
        assert payload == chosen.load * report.intermediate_bytes
        assert report.padding_bytes == 0
        result = b"".join(path.read_bytes() for path in sorted((mpi_tmp_path / "out").glob("part-*")))
        rows = np.frombuffer(result, dtype=np.uint32).reshape(-1, 3)
        assert np.array_equal(np.sort(rows[:, 0]), np.arange(0, 3 * records, 3))


def test_files_are_divided_as_theorem_2_says(mpi_tmp_path: Path) -> None:
    if RANKS < 8:
        pytest.skip("Q=4 with costs 2,3,1 wants 7 ranks")
    source = mpi_tmp_path / "in"
    if MPI.COMM_WORLD.rank == 0:
        source.write_text("some words and some more\n" * 2000)
    MPI.COMM_WORLD.Barrier()
    request = Request(4, implementation="parallel")
    report = run("wordcount.py", [source], mpi_tmp_path / "out", request, costs=Costs.parse("2,3,1"))
    if report is not None:
        assert report.verification.computation_load == Fraction(14, 9)
        assert report.verification.load == Fraction(7, 27)
        assert (len(report.plan.solvers), len(report.plan.helpers)) == (4, 3)
        assert report.decision.chosen.total == Fraction(16, 9)
