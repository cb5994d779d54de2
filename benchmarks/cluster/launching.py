"""Command lines that run something on a host, or an MPI job across all of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.cluster.needs import ClusterError
from benchmarks.cluster.state import HEAD, Cluster
from coded_mr.launch import Mpirun

__all__ = ["enter", "environment", "job"]


def enter(cluster: Cluster, host: str, command: Sequence[str]) -> list[str]:
    """Return the command line that runs a command on a host, in the directory it is started from.

    The head shares processes and files with the machine: it has to reach the hosts. TMPDIR is a host's own.
    """
    pid = str(cluster.process(host).pid)
    if host == HEAD:
        bind = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"']
        return ["nsenter", "-t", pid, "-n", "-u", "--", *bind, str(cluster.hosts_file), *command]
    inside = ["env", "TMPDIR=/var/tmp", "sh", "-c", 'cd "$0" && exec "$@"', str(Path.cwd())]
    return ["nsenter", "-t", pid, "-m", "-u", "-i", "-n", "-p", "--", *inside, *command]


def job(
    cluster: Cluster,
    mpirun: Mpirun,
    ranks: int,
    command: Sequence[str],
    *,
    spread: bool = False,
    survive: bool = False,
) -> list[str]:
    """Return the command line that runs a command on `ranks` ranks, as many on each host as it has slots.

    `spread`: the ranks go round the hosts, one on each before any has two; else they fill one after another.
    `survive`: a rank that dies does not end the others, if this launcher can do that.
    Run it with `environment`, and always under a time limit: launchers have been seen to hang when a host
    dies. Raises ClusterError for a launcher that is neither Open MPI's nor MPICH's, or too many ranks.
    """
    room = len(cluster.hosts) * cluster.slots
    if not 1 <= ranks <= room:
        raise ClusterError(f"the cluster in {cluster.state} has slots for 1..{room} ranks, not {ranks}")
    used = cluster.hosts[: ranks if spread else -(-ranks // cluster.slots)]
    hostfile = cluster.state / f"hostfile.{mpirun.flavour}"
    if mpirun.flavour == "openmpi":
        hostfile.write_text("".join(f"{host} slots={cluster.slots}\n" for host in used))
        start = [mpirun.path, *_open_mpi(cluster, hostfile), *(("--map-by", "node") if spread else ())]
    elif mpirun.flavour == "mpich":
        # This launcher begins again with the first host when it has come to the end.
        slots = 1 if spread else cluster.slots
        hostfile.write_text("".join(f"{host}:{slots}\n" for host in used))
        agent = ["-launcher", "ssh", "-launcher-exec", str(cluster.agent)]
        start = [mpirun.path, "-f", str(hostfile), *agent, "-iface", "eth0"]
    else:
        raise ClusterError(f"{mpirun.path} is neither Open MPI's launcher nor MPICH's")
    options = mpirun.survival if survive else ()
    return enter(cluster, HEAD, [*start, *options, "-n", str(ranks), *command])


def environment(env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment for `job`: root may run Open MPI, ranks that wait leave the cores to others."""
    ours = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }
    return ours | dict(env)


def _open_mpi(cluster: Cluster, hostfile: Path) -> list[str]:
    launcher = {"plm_ssh_agent": str(cluster.agent), "plm_ssh_no_tree_spawn": "1", "prte_if_include": "eth0"}
    within = "sm,tcp,self" if cluster.slots > 1 else "tcp,self"
    network = {"pml": "ob1", "btl": within, "btl_tcp_if_include": "eth0"}
    return [
        *("--hostfile", str(hostfile), "--bind-to", "none"),
        *(word for item in launcher.items() for word in ("--prtemca", *item)),
        *(word for item in network.items() for word in ("--mca", *item)),
    ]
