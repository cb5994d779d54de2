"""The world that the other checks rely on: its size, its subsets, its common folder."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

from coded_mr.launch import announced, check_world

pytestmark = pytest.mark.mpi

SIZES = (1, 2, 3, 5)


def test_world_is_the_announced_one() -> None:
    world = announced(os.environ)
    assert world is not None
    check_world(world, MPI.COMM_WORLD.size)
    assert (world.rank, world.size) == (MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size)
    assert world.one_host


def test_allreduce_sums_all_ranks() -> None:
    world = MPI.COMM_WORLD
    total = np.zeros(3, dtype=np.int64)
    world.Allreduce(np.full(3, world.rank + 1, dtype=np.int64), total)
    assert total.tolist() == [world.size * (world.size + 1) // 2] * 3


@pytest.mark.mpi(min_size=3)
def test_subset_speaks_while_others_do_not() -> None:
    world = MPI.COMM_WORLD
    members = [0, world.size - 1]
    if world.rank in members:
        subset = world.Create_group(world.group.Incl(members))
        assert subset.allgather(world.rank) == members
        subset.Free()
    world.Barrier()


@pytest.mark.mpi(min_size=2)
def test_common_folder_is_common(mpi_tmp_path: Path) -> None:
    world = MPI.COMM_WORLD
    (mpi_tmp_path / str(world.rank)).write_text("here", encoding="utf-8")
    world.Barrier()
    assert sorted(int(path.name) for path in mpi_tmp_path.iterdir()) == list(range(world.size))


def test_own_folder_is_not_shared(tmp_path: Path) -> None:
    assert len(set(MPI.COMM_WORLD.allgather(str(tmp_path)))) == MPI.COMM_WORLD.size
