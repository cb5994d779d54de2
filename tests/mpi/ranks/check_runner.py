"""Whole jobs on a world: each result equals that of a plain loop in one process."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

from coded_mr import InputFile, Job
from coded_mr.engine.epochs import Epoch
from coded_mr.engine.groups import Groups
from coded_mr.engine.runner import Order, run_order
from coded_mr.engine.shuffle import Limits, Shuffle
from coded_mr.io.output import verify_output
from coded_mr.jobfile import load_job
from coded_mr.plan.planner import Request
from coded_mr.terasort.kinds import make_records
from coded_mr.terasort.validate import checksum_of, validate
from coded_mr.theory.costs import Costs

pytestmark = pytest.mark.mpi

SIZES = (1, 2, 3, 5, 8)

TOP = Path(__file__).parents[3]
COSTS = Costs.parse("1,2,1")


def run(job: str, inputs: list[Path], output: Path, request: Request, **parameters: object):
    world = MPI.COMM_WORLD
    narrow = Limits(packets=2, bytes=1000, chunk=100, groups=2) if request.partitions % 2 else Limits()
    return run_order(
        world,
        Order(
            job=load_job(str(TOP / "jobs" / job))(**parameters),
            job_name=job,
            inputs=tuple(map(str, inputs)),
            output=str(output),
            request=request,
            job_id=output.name,
            costs=COSTS,
            limits=narrow,
        ),
    )


def lines_of(output: Path) -> list[str]:
    text = b"".join(path.read_bytes() for path in sorted(output.glob("part-*")))
    return text.decode().split("\n")[:-1]


def on_rank_0(action) -> None:
    """Do something once, and let nobody go on before it is done."""
    if MPI.COMM_WORLD.rank == 0:
        action()
    MPI.COMM_WORLD.Barrier()


@pytest.mark.parametrize("r", [0, 1, 2, 3, None])
def test_word_count_equals_a_counter(mpi_tmp_path: Path, r: int | None) -> None:
    sources = sorted((TOP / "coded_mr").rglob("*.py"))
    report = run("wordcount.py", sources, mpi_tmp_path / "out", Request(3, r=r))
    if MPI.COMM_WORLD.rank == 0:
        expected = Counter(word for path in sources for word in path.read_text().split())
        rows = [line.split("\t") for line in lines_of(mpi_tmp_path / "out")]
        assert {word: int(count) for word, count in rows} == dict(expected)
        assert len(rows) == len(expected)
        verify_output(str(mpi_tmp_path / "out"))
        assert report is not None
        if MPI.COMM_WORLD.size >= 5 and r is not None:
            assert report.verification.computation_load == r
        document = report.to_dict()
        assert document["counts"]["records_out"] == len(expected)
        assert document["counts"]["bytes_in"] == sum(path.stat().st_size for path in sources)


@pytest.mark.parametrize("partitions", [1, 2, 4, 7])
@pytest.mark.parametrize("scheme", ["solver-helper", "uncoded"])
def test_any_number_of_partitions(mpi_tmp_path: Path, partitions: int, scheme: str) -> None:
    if scheme == "solver-helper" and MPI.COMM_WORLD.size == 1 and partitions == 7:
        pytest.skip("the same plan as with one partition")
    on_rank_0(lambda: (mpi_tmp_path / "in").write_text("b a\nc a b\n" * 50 + "ü"))
    run("wordcount.py", [mpi_tmp_path / "in"], mpi_tmp_path / "out", Request(partitions, scheme=scheme))
    if MPI.COMM_WORLD.rank == 0:
        assert sorted(lines_of(mpi_tmp_path / "out")) == ["a\t100", "b\t100", "c\t50", "ü\t1"]
        assert len(list((mpi_tmp_path / "out").glob("part-*"))) == partitions


@pytest.mark.parametrize("kind", ["ascii", "equal", "nul", "skewed"])
@pytest.mark.parametrize("records", [0, 7, 5000])
def test_terasort_sorts_and_keeps_every_record(mpi_tmp_path: Path, kind: str, records: int) -> None:
    data = mpi_tmp_path / "data"
    on_rank_0(lambda: data.write_bytes(make_records(kind, 0, records).tobytes()))
    partitions = min(MPI.COMM_WORLD.size, 4)
    report = run("terasort.py", [data], mpi_tmp_path / "out", Request(partitions))
    if MPI.COMM_WORLD.rank == 0:
        found = validate([mpi_tmp_path / "out"])
        assert found.sorted
        assert found.first_error is None
        assert (found.records, found.checksum) == (records, checksum_of(data))
        everything = np.fromfile(data, dtype=np.uint8).reshape(-1, 100)
        result = b"".join(path.read_bytes() for path in sorted((mpi_tmp_path / "out").glob("part-*")))
        rows = [result[start : start + 100] for start in range(0, len(result), 100)]
        assert sorted(row.tobytes() for row in everything) == sorted(rows)
        assert report is not None


def test_coded_bytes_are_those_of_the_formula(mpi_tmp_path: Path) -> None:
    world = MPI.COMM_WORLD
    if world.size < 5:
        pytest.skip("needs 3 solvers and 2 helpers")
    data = mpi_tmp_path / "data"
    on_rank_0(lambda: data.write_bytes(make_records("uniform", 0, 10_000).tobytes()))
    report = run("terasort.py", [data], mpi_tmp_path / "out", Request(3, r=2))
    if report is not None:
        assert report.intermediate_bytes == 1_000_000
        assert report.load == pytest.approx(1 / 9, rel=0.15)
        assert report.coded_bytes - report.padding_bytes - report.header_bytes == pytest.approx(
            1e6 / 9, rel=0.06
        )
        assert report.header_bytes == 2 * 3 * 9
        assert report.delivered_bytes == 3 * report.coded_bytes


class Patient(Job):
    """Map nothing before the first groups are there."""

    whole_files = True
    prepared = threading.Event()

    def map(self, file: InputFile):
        assert self.prepared.wait(30), "no groups are set up while files are mapped"
        yield file.text(), 1

    def reduce(self, key, values):
        yield key, sum(values)


@pytest.mark.mpi(min_size=3)
@pytest.mark.parametrize("implementation", ["sequential", "parallel"])
def test_groups_are_set_up_while_files_are_mapped(
    mpi_tmp_path: Path, implementation, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_up = Shuffle._set_up

    def noting_set_up(self: Shuffle, epoch: Epoch) -> Groups:
        groups = set_up(self, epoch)
        Patient.prepared.set()
        return groups

    monkeypatch.setattr(Shuffle, "_set_up", noting_set_up)
    Patient.prepared.clear()
    for name in "abcdef":
        on_rank_0(lambda name=name: (mpi_tmp_path / name).write_text(name))
    report = run_order(
        MPI.COMM_WORLD,
        Order(
            job=Patient(),
            job_name="patient",
            inputs=tuple(str(mpi_tmp_path / name) for name in "abcdef"),
            output=str(mpi_tmp_path / "out"),
            request=Request(3, r=2, scheme="symmetric", implementation=implementation),
            job_id="patient",
            costs=COSTS,
        ),
    )
    if report is not None:
        assert sorted(lines_of(mpi_tmp_path / "out")) == [f"{name}\t1" for name in "abcdef"]
        traffic = [count.traffic for count in report.ranks[:3]]
        assert [each.groups for each in traffic] == [2, 2, 2]
        assert all(each.group_seconds > 0 for each in traffic)
        assert [each.exposed_group_seconds for each in traffic] == [0, 0, 0]


def test_grep_and_inverted_index(mpi_tmp_path: Path) -> None:
    sources = sorted((TOP / "jobs").glob("*.py"))
    run("grep.py", sources, mpi_tmp_path / "grep", Request(2), pattern=r"^class \w+")
    run("inverted_index.py", sources, mpi_tmp_path / "index", Request(3))
    if MPI.COMM_WORLD.rank == 0:
        texts = {str(path): path.read_text() for path in sources}
        found = sorted(
            f"{path}:{number}:{line}"
            for path, text in texts.items()
            for number, line in enumerate(text.splitlines(), 1)
            if line.startswith("class ")
        )
        assert sorted(lines_of(mpi_tmp_path / "grep")) == found
        index: dict[str, set[str]] = {}
        for path, text in texts.items():
            for word in text.split():
                index.setdefault(word, set()).add(path)
        assert sorted(lines_of(mpi_tmp_path / "index")) == sorted(
            "\t".join([word, *sorted(paths)]) for word, paths in index.items()
        )


def test_costs_are_measured_when_none_are_given(mpi_tmp_path: Path) -> None:
    on_rank_0(lambda: (mpi_tmp_path / "in").write_text("word " * 1000))
    order = Order(
        job=load_job(str(TOP / "jobs" / "wordcount.py"))(),
        job_name="wordcount",
        inputs=(str(mpi_tmp_path / "in"),),
        output=str(mpi_tmp_path / "out"),
        request=Request(2),
        job_id="measured",
        link_rate=1e9,
    )
    report = run_order(MPI.COMM_WORLD, order)
    if report is not None:
        assert report.profile is not None
        assert 0 < report.profile.sample_bytes <= 8 * 5000
        assert report.profile.input_bytes == 5000
        assert report.decision.machine.costs.map > 0
        networks = report.profile.networks
        assert {"groups"} <= set(networks) <= {"groups", "unicast"}, "what works on one host"
        assert set(networks["groups"].multicast) == set(range(1, min(MPI.COMM_WORLD.size, 3)))
        assert report.transport in report.profile.networks
        slots = report.profile.map_slots
        assert max(slots) == MPI.COMM_WORLD.size
        assert all(1 <= served <= ranks for ranks, served in slots.items())
        assert report.profile.part_seconds > 0
        names = {path.name for path in mpi_tmp_path.iterdir()}
        assert {name for name in names if "sample" in name} == set(), "the sample's parts stay behind"
