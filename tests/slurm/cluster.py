"""A Slurm of our own on this machine: several nodes, own keys, own ports, everything below one folder."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from coded_mr.launch import guard

__all__ = ["Ended", "Slurm", "missing", "running_slurm"]

NODES = 3
UP_SECONDS = 30
FINAL = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE"}
CONF = """\
ClusterName=codedmr
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={top}/munge/munge.sock
StateSaveLocation={top}/state
SlurmdSpoolDir={top}/spool-%n
TmpFS={top}/tmp-%n
SlurmctldPidFile={top}/slurmctld.pid
SlurmdPidFile={top}/slurmd-%n.pid
SlurmctldLogFile={top}/slurmctld.log
SlurmdLogFile={top}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
TopologyPlugin=topology/tree
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
InactiveLimit=0
KillWait=2
MinJobAge=300
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0,sched_min_interval=0,requeue_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
{nodes}
PartitionName=all Nodes=n[1-{count}] Default=YES MaxTime=10 State=UP
"""
TOPOLOGY = """\
SwitchName=s1 Nodes=n[1-2]
SwitchName=s2 Nodes=n3
SwitchName=core Switches=s[1-2]
"""


@dataclass(frozen=True)
class Ended:
    """Hold how a batch job ended: Slurm's state, the exit status, and what it printed."""

    state: str
    status: int
    output: str


@dataclass(frozen=True)
class Slurm:
    """Submit jobs to a cluster that runs; its files are below `top`."""

    top: Path

    @property
    def conf(self) -> Path:
        """Return the configuration."""
        return self.top / "slurm.conf"

    @property
    def local(self) -> Path:
        """Return what stands for the disk of a node."""
        return self.top / "local"

    def call(
        self, *command: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run one of Slurm's commands on this cluster, `env` added to ours."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
        environment |= {**(env or {}), "SLURM_CONF": str(self.conf), "SLURM_TMPDIR": str(self.local)}
        return subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=30, check=False
        )

    def submit(self, script: Path, *options: str, cwd: Path, env: Mapping[str, str]) -> str:
        """Hand a script to sbatch and return the job's number."""
        done = self.call("sbatch", "--parsable", *options, str(script), cwd=cwd, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def requeue(self, job: str) -> None:
        """Start an ended job once more, in two seconds instead of Slurm's two minutes.

        Within the second in which its first credential was revoked a new one counts as revoked too.
        """
        for command in (["requeue", job], ["update", f"JobId={job}", "StartTime=now+2"]):
            done = self.call("scontrol", *command)
            assert done.returncode == 0, done.stderr

    def ended(self, job: str, *, restarts: int = 0, timeout: float = 90) -> Ended:
        """Wait until a job has ended for good and return how; cancel it and fail after `timeout` seconds.

        Polls: `sbatch --wait` sleeps longer and longer.
        """
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            facts = self.facts(job)
            if facts["JobState"] in FINAL and int(facts["Restarts"]) >= restarts:
                output = Path(facts["StdOut"])
                text = output.read_text(errors="replace") if output.exists() else ""
                return Ended(facts["JobState"], int(facts["ExitCode"].partition(":")[0]), text)
            time.sleep(0.2)
        self.call("scancel", job)
        raise AssertionError(f"job {job} has not ended after {timeout} s: {facts}\n{_logs(self.top)}")

    def has_pmix(self) -> bool:
        """Tell whether srun can start ranks of Open MPI: its plugin looks for a library when it starts."""
        return self.call("srun", "--mpi=pmix", "--ntasks=1", "true").returncode == 0

    def facts(self, job: str) -> dict[str, str]:
        """Return what scontrol tells of a job."""
        shown = self.call("scontrol", "--oneliner", "show", "job", job)
        assert shown.returncode == 0, shown.stderr
        return dict(re.findall(r"(\w+)=(\S*)", shown.stdout))


def missing() -> str | None:
    """Say what this machine lacks for a cluster; None when it lacks nothing."""
    programs = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol")
    absent = [name for name in programs if shutil.which(name, path=_search()) is None]
    if absent:
        return f"no {', '.join(absent)}: apt-get install --no-install-recommends slurm-wlm munge"
    if os.getuid() != 0:
        return "a Slurm of several nodes on one machine must be started by root"
    if not os.path.ismount("/sys/fs/cgroup"):
        return "slurmd does not start without something mounted on /sys/fs/cgroup"
    try:
        socket.gethostbyname(socket.gethostname())
    except OSError:
        return f"the host's own name, {socket.gethostname()}, does not resolve: add it to /etc/hosts"
    return None


@contextmanager
def running_slurm(top: Path) -> Iterator[Slurm]:
    """Start a cluster of 3 nodes below an empty folder, and stop every daemon at the end."""
    slurm, daemons = Slurm(top), Daemons(top)
    try:
        _munge(top, daemons)
        _configure(slurm)
        daemons.start("slurmctld", "-D", "-i", "-f", str(slurm.conf))
        for number in range(1, NODES + 1):
            for kind in ("spool", "tmp"):
                (top / f"{kind}-n{number}").mkdir()
            daemons.start("slurmd", "-D", "-N", f"n{number}", "-f", str(slurm.conf))
        daemons.await_that(lambda: _idle(slurm) == NODES)
        try:
            yield slurm
        finally:
            _cancel_all(slurm)
    finally:
        daemons.stop()


class Daemons:
    """Keep daemons in the foreground of processes of ours: they end when we stop them, or die."""

    def __init__(self, top: Path) -> None:
        """Log below `top`."""
        self._top = top
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self, program: str, *options: str) -> None:
        """Start one, which gets SIGTERM when this process dies, however it does."""
        path = shutil.which(program, path=_search())
        assert path is not None
        command = [sys.executable, guard.__file__, str(os.getpid()), path, *options]
        with (self._top / f"{program}.out.log").open("ab") as log:
            self._running.append(
                subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
            )

    def await_that(self, ready: Callable[[], bool]) -> None:
        """Wait until all is ready; fail, with the logs, when a daemon ends or it takes too long."""
        deadline = time.monotonic() + UP_SECONDS
        while not ready():
            ended = [daemon.args for daemon in self._running if daemon.poll() is not None]
            assert not ended, f"{ended} ended\n{_logs(self._top)}"
            assert time.monotonic() < deadline, f"not up in {UP_SECONDS} s\n{_logs(self._top)}"
            time.sleep(0.1)

    def stop(self) -> None:
        """Stop them, the last one first; kill those that do not listen for five seconds."""
        for daemon in reversed(self._running):
            daemon.terminate()
            try:
                daemon.wait(5)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def _munge(top: Path, daemons: Daemons) -> None:
    top.chmod(0o755)
    folder = top / "munge"
    folder.mkdir(mode=0o711)
    key, socket_file = folder / "munge.key", folder / "munge.sock"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    files = {"key-file": key, "socket": socket_file, "pid-file": folder / "munged.pid"}
    files |= {"log-file": folder / "munged.log", "seed-file": folder / "munged.seed"}
    options = [f"--{name}={path}" for name, path in files.items()]
    # Forced: it would rather not have its socket below a folder that only we may enter.
    daemons.start("munged", "--foreground", "--force", "--num-threads=2", *options)
    daemons.await_that(socket_file.exists)


def _configure(slurm: Slurm) -> None:
    for folder in (slurm.top / "state", slurm.local):
        folder.mkdir()
    host = socket.gethostname().partition(".")[0]
    port, *ports = _free_ports(NODES + 1)
    # More processors than there are: the machine is shared by its nodes, and nobody waits for another.
    nodes = "\n".join(
        f"NodeName=n{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=4 State=UNKNOWN"
        for number, port in enumerate(ports, 1)
    )
    (slurm.top / "topology.conf").write_text(TOPOLOGY)
    slurm.conf.write_text(CONF.format(host=host, port=port, top=slurm.top, nodes=nodes, count=NODES))


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def _search() -> str:
    return f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


def _cancel_all(slurm: Slurm) -> None:
    """End what a test has left: without its daemons it would never end."""
    slurm.call("scancel", "--state=RUNNING")
    slurm.call("scancel", "--state=PENDING")
    deadline = time.monotonic() + 10
    while slurm.call("squeue", "--noheader").stdout and time.monotonic() < deadline:
        time.sleep(0.1)


def _idle(slurm: Slurm) -> int:
    return len(set(slurm.call("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").stdout.split()))


def _logs(top: Path) -> str:
    return "\n".join(path.read_text(errors="replace")[-2000:] for path in sorted(top.glob("*.log")))
