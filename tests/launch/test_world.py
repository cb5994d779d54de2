"""What a launcher's environment says, and the refusal of a world that is not the announced one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import LaunchError
from coded_mr.launch import Announced, announced, check_world

OPEN_MPI = {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}
HYDRA = {"PMI_SIZE": "3", "PMI_RANK": "0", "MPI_LOCALNRANKS": "3"}
STEP = {"SLURM_JOB_ID": "7", "SLURM_STEP_NUM_TASKS": "6", "SLURM_PROCID": "5"}


@pytest.mark.parametrize(
    ("env", "size", "rank", "local", "launcher"),
    [
        (OPEN_MPI, 4, 3, 2, "mpirun of Open MPI"),
        (HYDRA, 3, 0, 3, "mpiexec of MPICH"),
        (STEP, 6, 5, None, "srun"),
        (STEP | {"PMIX_RANK": "5"}, 6, 5, None, "srun --mpi=pmix"),
        (STEP | {"PMI_SIZE": "6", "PMI_RANK": "5"}, 6, 5, None, "srun --mpi=pmi2"),
        (STEP | HYDRA, 3, 0, 3, "mpiexec of MPICH"),
        (STEP | OPEN_MPI | {"PMIX_RANK": "3"}, 4, 3, 2, "mpirun of Open MPI"),
    ],
)
def test_launchers(env: dict[str, str], size: int, rank: int, local: int | None, launcher: str) -> None:
    world = announced(env)
    assert world is not None
    assert (world.size, world.rank, world.local_size, world.launcher) == (size, rank, local, launcher)
    assert env[world.variable] == str(size)


@pytest.mark.parametrize(
    "env",
    [
        {},
        {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "6", "SLURM_PROCID": "0"},
        {"SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0"},
        {"PMIX_RANK": "2"},
    ],
)
def test_no_launcher(env: dict[str, str]) -> None:
    assert announced(env) is None


@pytest.mark.parametrize(
    ("env", "named"),
    [
        (OPEN_MPI | {"OMPI_COMM_WORLD_SIZE": "four"}, "OMPI_COMM_WORLD_SIZE"),
        (OPEN_MPI | {"OMPI_COMM_WORLD_SIZE": "0"}, "OMPI_COMM_WORLD_SIZE"),
        (OPEN_MPI | {"OMPI_COMM_WORLD_RANK": "4"}, "OMPI_COMM_WORLD_RANK"),
        (OPEN_MPI | {"OMPI_COMM_WORLD_RANK": "-1"}, "OMPI_COMM_WORLD_RANK"),
        (OPEN_MPI | {"OMPI_COMM_WORLD_LOCAL_SIZE": "5"}, "OMPI_COMM_WORLD_LOCAL_SIZE"),
        ({"PMI_SIZE": "2"}, "PMI_RANK"),
        (HYDRA | {"MPI_LOCALNRANKS": ""}, "MPI_LOCALNRANKS"),
        ({"SLURM_STEP_NUM_TASKS": "2"}, "SLURM_PROCID"),
    ],
)
def test_nonsense_is_refused_by_name(env: dict[str, str], named: str) -> None:
    with pytest.raises(LaunchError, match=named):
        announced(env)


@given(st.dictionaries(st.sampled_from([*OPEN_MPI, *HYDRA, *STEP, "PMIX_RANK"]), st.text(max_size=4)))
def test_any_environment_is_a_world_or_a_launch_error(env: dict[str, str]) -> None:
    try:
        world = announced(env)
    except LaunchError:
        return
    assert world is None or 0 <= world.rank < world.size


def test_one_host_only_when_known() -> None:
    assert [Announced(4, 0, local, "", "").one_host for local in (None, 2, 4)] == [False, False, True]


@pytest.mark.parametrize("size", [4, 5])
def test_world_that_holds_all_ranks_passes(size: int) -> None:
    check_world(announced(OPEN_MPI), size)
    check_world(None, 1)


def test_lone_ranks_are_refused_with_the_reason() -> None:
    with pytest.raises(LaunchError, match=r"OMPI_COMM_WORLD_SIZE=4.*world of size 1") as caught:
        check_world(announced(OPEN_MPI), 1)
    for hint in ("--mpi=pmix", "which mpirun", "Get_library_version"):
        assert hint in str(caught.value)
