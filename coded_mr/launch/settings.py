"""Settings that Open MPI needs on one host, added only where nobody has set them.

A cluster has its own settings and so has its user: what is in the environment or in one of
Open MPI's parameter files is never touched, and a batch allocation is left as it is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from coded_mr.launch.world import announced

__all__ = ["cores", "in_allocation", "laptop_settings", "parameter_files", "rank_settings"]

# Probing for a fabric takes Open MPI about a second of every start, and one host has none to use.
_NO_FABRIC = {"OMPI_MCA_btl": "^ofi"}
# Open MPI 5 reads the first, Open MPI 4 the second; each ignores the other.
_OVERSUBSCRIBE = {
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}
_YIELD = {"OMPI_MCA_mpi_yield_when_idle": "1"}
_NO_BINDING = {
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}


def in_allocation(env: Mapping[str, str]) -> bool:
    """Tell whether a batch system or the user has said on which hosts the ranks run."""
    batch = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "COBALT_JOBID")
    hostfiles = ("PRTE_MCA_prte_default_hostfile", "OMPI_MCA_orte_default_hostfile", "HYDRA_HOST_FILE")
    return any(env.get(name) for name in (*batch, *hostfiles))


def cores(affinity: Iterable[int], topology: Path = Path("/sys/devices/system/cpu")) -> int:
    """Count the physical cores behind the processors of `affinity`; each processor if unknown.

    Open MPI counts cores, not hardware threads, as the places where a rank may run.
    """
    siblings = set()
    for processor in affinity:
        try:
            text = (topology / f"cpu{processor}" / "topology" / "thread_siblings_list").read_text()
        except OSError:
            text = str(processor)
        siblings.add(text.strip())
    return max(1, len(siblings))


def parameter_files(env: Mapping[str, str], prefix: Path | None = None) -> list[Path]:
    """List the files in which the user or the site may have set Open MPI's parameters.

    `prefix` is where Open MPI is installed; None looks where a running rank finds it.
    """
    home = Path(env.get("HOME", "/"))
    prefixes = [prefix] if prefix else [Path(env.get("OPAL_PREFIX") or env.get("PMIX_PREFIX") or sys.prefix)]
    return [
        home / ".openmpi" / "mca-params.conf",
        home / ".prte" / "mca-params.conf",
        *(place / "etc" / f"{name}-mca-params.conf" for place in prefixes for name in ("openmpi", "prte")),
        Path("/etc/openmpi/openmpi-mca-params.conf"),
    ]


def laptop_settings(
    env: Mapping[str, str],
    *,
    ranks: int,
    cpus: int,
    uid: int,
    allocation: bool,
    flavour: str,
    files: Iterable[Path] | None = None,
    processors: int | None = None,
) -> dict[str, str]:
    """Return the environment variables to add before mpirun starts; only Open MPI needs any.

    `cpus` is how many ranks can have a core to themselves here (`cores`), `processors` what the
    operating system counts (None: ask it), `allocation` what `in_allocation` says, and `files`
    the parameter files to respect (None: `parameter_files(env)`).
    """
    if flavour != "openmpi":
        return {}
    wanted: dict[str, str] = {}
    if uid == 0:
        wanted |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    if not allocation:
        wanted |= _NO_FABRIC
    if not allocation and ranks > cpus:
        wanted |= _OVERSUBSCRIBE | _YIELD
    # A Slurm that promises more processors than exist: binding fails and spinning ranks starve.
    if allocation and _promised(env) > (processors or os.cpu_count() or 1):
        wanted |= _NO_BINDING | _YIELD
    return _unset(wanted, env, parameter_files(env) if files is None else files)


def rank_settings(env: Mapping[str, str], *, files: Iterable[Path] | None = None) -> dict[str, str]:
    """Return what a rank adds to its own environment before MPI starts, whoever launched it.

    Empty unless all ranks share this host, or there is no launcher. Raises LaunchError as
    `announced` does.
    """
    world = announced(env)
    if world is not None and not world.one_host:
        return {}
    return _unset(_NO_FABRIC, env, parameter_files(env) if files is None else files)


def _unset(wanted: Mapping[str, str], env: Mapping[str, str], files: Iterable[Path]) -> dict[str, str]:
    """Drop what the environment or a parameter file already decides."""
    decided = {name for path in files for name in _parameters(path)}
    return {
        name: value
        for name, value in wanted.items()
        if name not in env and name.partition("_MCA_")[2] not in decided
    }


def _parameters(path: Path) -> set[str]:
    """Read the names that a parameter file sets; none when there is no such file to read."""
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return set()
    lines = (line.partition("#")[0].partition("=") for line in text.splitlines())
    return {name.strip() for name, equals, _ in lines if equals}


def _promised(env: Mapping[str, str]) -> int:
    text = env.get("SLURM_CPUS_ON_NODE", "")
    return int(text) if text.isdigit() else 0
