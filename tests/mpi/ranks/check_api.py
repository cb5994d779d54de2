"""Jobs run from Python, on all ranks or on some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from mpi4py import MPI

import coded_mr
from coded_mr.errors import OutputError

pytestmark = pytest.mark.mpi

SIZES = (1, 3)


class Letters(coded_mr.Job):
    """Count letters."""

    def map(self, file: coded_mr.InputFile) -> Iterator[tuple[str, int]]:
        yield from Counter(file.text()).items()

    def combine(self, key: str, values: list[int]) -> int:
        return sum(values)

    def reduce(self, key: str, values: list[int]) -> Iterator[tuple[str, int]]:
        yield key, sum(values)


def test_a_job_runs_on_all_ranks_and_on_some(mpi_tmp_path: Path) -> None:
    world = MPI.COMM_WORLD
    if world.rank == 0:
        (mpi_tmp_path / "in").write_text("banana" * 100)
    world.Barrier()
    some = world.Split(world.rank // 2, world.rank)
    for comm, name in ((world, "all"), (some, f"some{world.rank // 2}")):
        output = mpi_tmp_path / name
        report = coded_mr.run(Letters(), [str(mpi_tmp_path / "in")], str(output), comm=comm, costs="1,1,1")
        assert (report is None) == (comm.rank > 0)
        if report is not None:
            lines = sorted(b"".join(p.read_bytes() for p in output.glob("part-*")).splitlines())
            assert lines == [b"a\t300", b"b\t100", b"n\t200"]
    some.Free()


def test_a_rank_alone_raises(mpi_tmp_path: Path) -> None:
    if MPI.COMM_WORLD.rank == 0:
        (mpi_tmp_path / "out").write_text("in the way")
        with pytest.raises(OutputError, match="not a directory"):
            coded_mr.run(Letters(), [__file__], str(mpi_tmp_path / "out"), comm=MPI.COMM_SELF)
