"""Settings are added where they apply, and never over anybody's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from coded_mr.launch import cores, in_allocation, laptop_settings, parameter_files, rank_settings

MAPPING = "PRTE_MCA_rmaps_default_mapping_policy"
OVERSUBSCRIBE = {MAPPING, "OMPI_MCA_rmaps_base_oversubscribe"}
YIELD = {"OMPI_MCA_mpi_yield_when_idle"}
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"}
NO_BINDING = {"PRTE_MCA_hwloc_default_binding_policy", "OMPI_MCA_hwloc_base_binding_policy"}


def names(
    env: dict[str, str],
    *,
    ranks: int = 2,
    uid: int = 1000,
    flavour: str = "openmpi",
    files: tuple[Path, ...] = (),
) -> set[str]:
    """Give the names set for a host with 4 cores."""
    return set(
        laptop_settings(
            env,
            ranks=ranks,
            cpus=4,
            uid=uid,
            allocation=in_allocation(env),
            flavour=flavour,
            files=files,
            processors=8,
        )
    )


def test_laptop() -> None:
    assert names({}) == {"OMPI_MCA_btl"}
    assert names({}, ranks=4) == {"OMPI_MCA_btl"}
    assert names({}, ranks=5) == {"OMPI_MCA_btl"} | OVERSUBSCRIBE | YIELD
    assert names({}, uid=0) == {"OMPI_MCA_btl"} | ROOT


@pytest.mark.parametrize("flavour", ["mpich", "unknown"])
def test_only_open_mpi_needs_any(flavour: str) -> None:
    assert names({}, ranks=9, uid=0, flavour=flavour) == set()


@pytest.mark.parametrize(
    "name", ["SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "COBALT_JOBID", "PRTE_MCA_prte_default_hostfile"]
)
def test_allocation_is_left_as_it_is(name: str) -> None:
    assert names({name: "1"}, ranks=9) == set()
    assert names({name: "1"}, ranks=9, uid=0) == ROOT
    assert in_allocation({name: ""}) is False


def test_slurm_that_promises_too_many_processors() -> None:
    assert names({"SLURM_JOB_ID": "1", "SLURM_CPUS_ON_NODE": "8"}) == set()
    assert names({"SLURM_JOB_ID": "1", "SLURM_CPUS_ON_NODE": "9"}) == NO_BINDING | YIELD


@pytest.mark.parametrize("name", sorted({"OMPI_MCA_btl"} | OVERSUBSCRIBE | YIELD | ROOT))
def test_environment_of_the_user_wins(name: str) -> None:
    everything = names({}, ranks=5, uid=0)
    assert names({name: "mine"}, ranks=5, uid=0) == everything - {name}


def test_parameter_file_of_the_user_wins(tmp_path: Path) -> None:
    path = tmp_path / "mca-params.conf"
    path.write_text("# mpi_yield_when_idle = 0\n\n btl = tcp,self # mine\nbroken line\n", encoding="utf-8")
    assert names({}, ranks=5, files=(path,)) == OVERSUBSCRIBE | YIELD
    assert names({}, ranks=5, files=(tmp_path / "none",)) == {"OMPI_MCA_btl"} | OVERSUBSCRIBE | YIELD


@pytest.mark.parametrize(
    ("place", "line", "unset"),
    [
        (".openmpi/mca-params.conf", "btl = self", "OMPI_MCA_btl"),
        (".prte/mca-params.conf", "rmaps_default_mapping_policy = core", MAPPING),
        ("etc/openmpi-mca-params.conf", "btl = self", "OMPI_MCA_btl"),
        ("etc/prte-mca-params.conf", "rmaps_default_mapping_policy = core", MAPPING),
    ],
)
def test_where_parameter_files_are_looked_for(tmp_path: Path, place: str, line: str, unset: str) -> None:
    (tmp_path / place).parent.mkdir()
    (tmp_path / place).write_text(line, encoding="utf-8")
    files = tuple(parameter_files({"HOME": str(tmp_path)}, tmp_path))
    assert unset in names({}, ranks=5)
    assert unset not in names({}, ranks=5, files=files)


def test_cores_count_hardware_threads_once(tmp_path: Path) -> None:
    for processor, siblings in enumerate(["0,2", "1,3", "0,2", "1,3"]):
        folder = tmp_path / f"cpu{processor}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{siblings}\n", encoding="utf-8")
    assert cores(range(4), tmp_path) == 2
    assert cores([1, 3], tmp_path) == 1
    assert cores([0, 1, 2, 3], tmp_path / "unknown") == 4


def test_rank_on_one_host_skips_the_fabric() -> None:
    world = {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "4"}
    assert rank_settings({}, files=()) == {"OMPI_MCA_btl": "^ofi"}
    assert rank_settings(world, files=()) == {"OMPI_MCA_btl": "^ofi"}
    assert rank_settings(world | {"OMPI_MCA_btl": "tcp,self"}, files=()) == {}
    assert rank_settings(world | {"OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, files=()) == {}
    assert rank_settings({"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "0"}, files=()) == {}
