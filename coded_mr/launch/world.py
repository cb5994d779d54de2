"""What the environment announces about the MPI world, read before MPI starts.

A rank whose launcher and MPI library do not belong together becomes a world of its own: n ranks
started, n worlds of size 1, no error, and n copies of the output. Compare with `check_world`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from coded_mr.errors import LaunchError

__all__ = ["Announced", "announced", "check_world"]

_REMEDY = "unset the launcher's variables, or start the ranks with mpirun or srun again"


@dataclass(frozen=True)
class Announced:
    """Hold what a launcher told this rank: `0 <= rank < size`, and how many ranks share its host.

    `local_size` is None when the launcher does not say; `variable` is where `size` was read.
    """

    size: int
    rank: int
    local_size: int | None
    launcher: str
    variable: str

    @property
    def one_host(self) -> bool:
        """Tell whether every rank of the world is known to run on this host."""
        return self.local_size == self.size


def announced(env: Mapping[str, str]) -> Announced | None:
    """Read what the launcher of this process announced, or None when no launcher started it.

    Knows mpirun of Open MPI, mpiexec of MPICH and its relatives, and srun. A batch script (one
    task, or no Slurm step at all) is not under a launcher: it is where a launcher is called.
    Raises LaunchError naming the variable that makes no sense.
    """
    if "OMPI_COMM_WORLD_SIZE" in env:
        names = ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE")
        return _read(env, "mpirun of Open MPI", *names)
    if "PMI_SIZE" in env:
        # hydra counts a host's ranks in a variable of its own, and starts its proxies with srun
        by_srun = "SLURM_STEP_NUM_TASKS" in env and "MPI_LOCALNRANKS" not in env
        launcher = "srun --mpi=pmi2" if by_srun else "mpiexec of MPICH"
        return _read(env, launcher, "PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS")
    if "SLURM_STEP_NUM_TASKS" in env and _number(env, "SLURM_STEP_NUM_TASKS", least=1) > 1:
        if "PMIX_RANK" in env:
            return _read(env, "srun --mpi=pmix", "SLURM_STEP_NUM_TASKS", "PMIX_RANK", None)
        return _read(env, "srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", None)
    return None


def check_world(announced: Announced | None, size: int) -> None:
    """Raise LaunchError when the launcher started more ranks than the MPI world has.

    `size` is the size of MPI's world as the library sees it.
    """
    if announced is None or announced.size <= size:
        return
    raise LaunchError(
        f"{announced.launcher} announced {announced.size} ranks ({announced.variable}={announced.size}), "
        f"but rank {announced.rank} finds itself in an MPI world of size {size}: the launcher and the MPI "
        f"library of this Python do not belong together.\n"
        f"Usual reasons: mpirun of one MPI with the library of another; srun without --mpi=pmix "
        f"(Open MPI) or --mpi=pmi2 (MPICH); a shell that srun itself started.\n"
        f"To see: `which mpirun`, and `python -c 'from mpi4py import MPI; "
        f"print(MPI.Get_library_version())'`."
    )


def _read(
    env: Mapping[str, str], launcher: str, size_name: str, rank_name: str, local_name: str | None
) -> Announced:
    size = _number(env, size_name, least=1)
    rank = _number(env, rank_name, least=0)
    if rank >= size:
        raise LaunchError(f"{rank_name}={rank} is not a rank of a world of {size_name}={size}; {_REMEDY}")
    local = _number(env, local_name, least=1) if local_name is not None and local_name in env else None
    if local is not None and local > size:
        raise LaunchError(f"{local_name}={local} is more than {size_name}={size}; {_REMEDY}")
    return Announced(size, rank, local, launcher, size_name)


def _number(env: Mapping[str, str], name: str, *, least: int) -> int:
    if name not in env:
        raise LaunchError(f"{name} is not set, though its launcher's other variables are; {_REMEDY}")
    try:
        value = int(env[name])
    except ValueError:
        value = least - 1
    if value < least:
        raise LaunchError(f"{name}={env[name]!r} is not a whole number >= {least}; {_REMEDY}")
    return value
