"""Start MPI: find the launcher, run a world under it, read what a launcher announced.

Runs before MPI does: nothing here imports mpi4py.
"""

from __future__ import annotations

from coded_mr.launch.mpirun import JOB_ID, Mpirun, find_mpirun, launch, run_world, start, stop
from coded_mr.launch.settings import cores, in_allocation, laptop_settings, parameter_files, rank_settings
from coded_mr.launch.world import Announced, announced, check_world

__all__ = [
    "JOB_ID",
    "Announced",
    "Mpirun",
    "announced",
    "check_world",
    "cores",
    "find_mpirun",
    "in_allocation",
    "laptop_settings",
    "launch",
    "parameter_files",
    "rank_settings",
    "run_world",
    "start",
    "stop",
]
