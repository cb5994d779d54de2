"""What one rank knows of itself and its host, gathered without MPI; rank 0 judges the facts of all."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import resource
import socket
import tempfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import coded_mr
from coded_mr.errors import CodedMRError
from coded_mr.io.files import shown

__all__ = ["Facts", "Interface", "JobLoader", "Mpi", "Space", "gather_facts"]

JobLoader: TypeAlias = Callable[[], Sequence[Path]]

_NET = Path("/sys/class/net")
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_SHARED_MEMORY = "/dev/shm"
_LIBRARIES = ("mpi4py", "numpy", "msgspec")
_SIOCGIFADDR = 0x8915


@dataclass(frozen=True)
class Interface:
    """Describe a network interface that is up.  speed: Mbit/s, None when it does not tell."""

    name: str
    address: str | None
    speed: int | None


@dataclass(frozen=True)
class Space:
    """Describe a directory: free and total bytes, and why nothing can be written there (None: it can)."""

    path: str
    free: int
    total: int
    problem: str | None


@dataclass(frozen=True)
class Mpi:
    """Describe the MPI of a rank.  threads: 0 single, 1 funneled, 2 serialized, 3 multiple."""

    library: str
    standard: str
    threads: int


@dataclass(frozen=True)
class Facts:
    """Hold what a rank sees.

    boot: identifies the running kernel, "" when unknown.  processors: those that the rank may use.
    open_files, file_bytes: its limits (None: none).  job: CRC-32 of the job's files, None without one;
    job_problem: why it does not load.
    """

    rank: int
    host: str
    boot: str
    processors: tuple[int, ...]
    versions: tuple[tuple[str, str], ...]
    interfaces: tuple[Interface, ...]
    shared_memory: Space
    scratch: Space
    open_files: int | None
    file_bytes: int | None
    multicast_problem: str | None
    mpi: Mpi | None = None
    job: int | None = None
    job_problem: str | None = None


def gather_facts(rank: int, mpi: Mpi | None, job: JobLoader | None) -> Facts:
    """Look around; nothing is raised for what is missing or broken here.

    job loads the job and returns the files that make it up; it may raise any CodedMRError.
    """
    crc, problem = _job(job)
    return Facts(
        rank=rank,
        host=socket.gethostname(),
        boot=_text(_BOOT),
        processors=tuple(sorted(os.sched_getaffinity(0))),
        versions=_versions(),
        interfaces=_interfaces(),
        shared_memory=_space(_SHARED_MEMORY),
        scratch=_scratch(),
        open_files=_limit(resource.RLIMIT_NOFILE),
        file_bytes=_limit(resource.RLIMIT_FSIZE),
        multicast_problem=_multicast(),
        mpi=mpi,
        job=crc,
        job_problem=problem,
    )


def _versions() -> tuple[tuple[str, str], ...]:
    found = [("coded_mr", coded_mr.__version__), ("Python", platform.python_version())]
    for name in _LIBRARIES:
        try:
            found.append((name, importlib.metadata.version(name)))
        except importlib.metadata.PackageNotFoundError:
            found.append((name, "missing"))
    return tuple(found)


def _job(load: JobLoader | None) -> tuple[int | None, str | None]:
    """Return the checksum of the job's files and why it does not load."""
    if load is None:
        return None, None
    try:
        files = load()
        crc = 0
        for path in files:
            crc = zlib.crc32(path.read_bytes(), crc)
    except (CodedMRError, OSError) as error:
        return None, str(error)
    return (crc if files else None), None


def _interfaces() -> tuple[Interface, ...]:
    """List the interfaces that carry data, without the loopback."""
    try:
        names = sorted(path.name for path in _NET.iterdir())
    except OSError:
        return ()
    found = []
    for name in names:
        # Some drivers never say "up"; those that are down say so.
        if name != "lo" and _text(_NET / name / "operstate") in ("up", "unknown"):
            speed = _text(_NET / name / "speed")
            found.append(Interface(name, _address(name), int(speed) if speed.isdigit() else None))
    return tuple(found)


def _address(interface: str) -> str | None:
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            answer = fcntl.ioctl(probe, _SIOCGIFADDR, interface.encode()[:15].ljust(256, b"\0"))
        except OSError:
            return None
    return socket.inet_ntoa(answer[20:24])


def _scratch() -> Space:
    try:
        return _space(tempfile.gettempdir())
    except OSError as error:
        return Space(os.environ.get("TMPDIR", "/tmp"), 0, 0, error.strerror or str(error))


def _space(path: str) -> Space:
    try:
        status = os.statvfs(path)
        with tempfile.TemporaryFile(dir=path) as probe:
            probe.write(b"\0" * 4096)
    except OSError as error:
        return Space(path, 0, 0, f"{shown(path)}: {error.strerror or error}")
    return Space(path, status.f_bavail * status.f_frsize, status.f_blocks * status.f_frsize, None)


def _limit(kind: int) -> int | None:
    soft, _ = resource.getrlimit(kind)
    return None if soft == resource.RLIM_INFINITY else soft


def _multicast() -> str | None:
    """Send a datagram to a multicast group that this process has joined; return why it does not come."""
    group, word = "239.255.77.82", os.urandom(16)
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        try:
            receiver.bind(("", 0))
            here = socket.inet_aton("127.0.0.1")
            receiver.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + here)
            receiver.settimeout(1)
            sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, here)
            sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 1)
            sender.sendto(word, (group, receiver.getsockname()[1]))
            while receiver.recv(64) != word:
                pass
        except OSError as error:
            return error.strerror or str(error)
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
