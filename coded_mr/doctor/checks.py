"""Judge the facts of all ranks: one small function a check."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from coded_mr.doctor.facts import Facts
from coded_mr.doctor.finding import Finding
from coded_mr.text import bytes_text, counted

__all__ = ["clocks", "judge"]

T = TypeVar("T")

_THREADS = ("SINGLE", "FUNNELED", "SERIALIZED", "MULTIPLE")
_FUNNELED = 1
_OPEN_FILES = 1024
# What MPI takes of shared memory for each rank on a host, with room for messages of a MiB under way.
_SHARED_BYTES = 16 << 20
_SCRATCH_BYTES = 1 << 30
# The name of a Unix socket has at most 107 bytes, of which an MPI adds about half.
_LONGEST_SCRATCH = 60
_SKEW_SECONDS = 0.1


def judge(facts: Sequence[Facts]) -> list[Finding]:
    """Return what there is to say about a world's ranks, in the order of the ranks' concerns.

    facts: one of each rank, that of rank k at position k.
    """
    about_mpi = (_software, _mpi, _threads)
    about_hosts = (_hosts, _processors, _networks, _addresses, _multicast)
    about_space = (_shared_memory, _scratch, _files)
    checks = (*about_mpi, *about_hosts, *about_space, _job)
    return [finding for check in checks for finding in check(facts)]


def clocks(facts: Sequence[Facts], skews: Sequence[float]) -> Finding:
    """Judge by how many seconds the clock of each rank is ahead of that of rank 0."""
    worst = max(range(len(skews)), key=lambda rank: abs(skews[rank]))
    if abs(skews[worst]) > _SKEW_SECONDS:
        return Finding(
            "warning",
            f"the clock of {facts[worst].host} differs by {skews[worst]:+.3f} s from that of {facts[0].host}",
            "times in reports will not fit together: run an NTP client on every host",
        )
    return Finding("ok", f"clocks agree within {_SKEW_SECONDS} s (largest difference {skews[worst]:+.6f} s)")


def _software(facts: Sequence[Facts]) -> Iterator[Finding]:
    for name, version in facts[0].versions:
        if version == "missing":
            yield Finding("error", f"{name} is not installed", "pip install coded_mr brings what it needs")
    differing = [
        Finding(
            "error",
            f"ranks differ in their version of {name}: {_parties(found)}",
            "install the same environment on all hosts, or put it on a file system that all share",
        )
        for name in dict(facts[0].versions)
        if len(found := _by(facts, lambda each, name=name: dict(each.versions)[name])) > 1  # type: ignore[misc]
    ]
    yield from differing
    if not differing:
        yield Finding("ok", ", ".join(f"{name} {version}" for name, version in facts[0].versions))


def _mpi(facts: Sequence[Facts]) -> Iterator[Finding]:
    found = _by(facts, lambda each: None if each.mpi is None else (each.mpi.library, each.mpi.standard))
    if len(found) > 1:
        yield Finding(
            "error",
            f"ranks use different MPI libraries: {_parties(found)}",
            "load the same module, or use the same virtual environment, on all hosts",
        )
        return
    if facts[0].mpi is not None:
        yield Finding("ok", f"{facts[0].mpi.library}, MPI {facts[0].mpi.standard}")


def _threads(facts: Sequence[Facts]) -> Iterator[Finding]:
    levels = [each.mpi.threads for each in facts if each.mpi is not None]
    if not levels:
        return
    name = _THREADS[min(levels)]
    if min(levels) < _FUNNELED:
        yield Finding(
            "error",
            f"MPI gives thread level {name}, but map runs in a thread beside MPI",
            "unset MPI4PY_RC_THREAD_LEVEL and MPI4PY_RC_THREADS, or use an MPI built with threads",
        )
    else:
        yield Finding("ok", f"thread level {name} (FUNNELED is enough)")


def _hosts(facts: Sequence[Facts]) -> Iterator[Finding]:
    hosts = _hosts_of(facts)
    named = ", ".join(f"{host} ({len(ranks)})" for host, ranks in list(hosts.items())[:8])
    more = f" and {len(hosts) - 8} more" if len(hosts) > 8 else ""
    yield Finding("ok", f"{counted(len(facts), 'rank')} on {counted(len(hosts), 'host')}: {named}{more}")
    for host, ranks in hosts.items():
        kernels = {facts[rank].boot for rank in ranks} - {""}
        if len(kernels) > 1:
            yield Finding(
                "error",
                f"{counted(len(kernels), 'machine')} are called {host}: MPI would take them for one",
                "give every host a name of its own",
            )


def _processors(facts: Sequence[Facts]) -> Iterator[Finding]:
    crowded = False
    for host, ranks in _hosts_of(facts).items():
        usable = len({processor for rank in ranks for processor in facts[rank].processors})
        if len(ranks) > usable:
            crowded = True
            yield Finding(
                "warning",
                f"{counted(len(ranks), 'rank')} on {host} share {counted(usable, 'processor')}",
                "ranks wait for each other: fine for a try; for speed use fewer ranks or more hosts",
            )
    if not crowded:
        yield Finding("ok", "a processor for every rank")


def _networks(facts: Sequence[Facts]) -> Iterator[Finding]:
    hosts = _hosts_of(facts)
    for host, ranks in hosts.items():
        interfaces = facts[ranks[0]].interfaces
        if not interfaces:
            what = f"{host} has no network beside its loopback"
            alone = len(hosts) == 1
            yield Finding("ok", what) if alone else Finding("error", what, f"bring a network of {host} up")
            continue
        each = ", ".join(
            f"{i.name}{f' {i.address}' if i.address else ''}{f' ({i.speed:,} Mbit/s)' if i.speed else ''}"
            for i in interfaces
        )
        yield Finding("ok", f"networks of {host}: {each}")


def _addresses(facts: Sequence[Facts]) -> Iterator[Finding]:
    holders: dict[str, set[str]] = defaultdict(set)
    names: dict[str, set[str]] = defaultdict(set)
    for host, ranks in _hosts_of(facts).items():
        for interface in facts[ranks[0]].interfaces:
            if interface.address is not None:
                holders[interface.address].add(host)
                names[interface.address].add(interface.name)
    for address, hosts in holders.items():
        if len(hosts) > 1:
            bridge = ",".join(sorted(names[address]))
            yield Finding(
                "warning",
                f"{counted(len(hosts), 'host')} have the same address {address} ({bridge}): MPI may try it",
                f"tell MPI what to use; Open MPI: OMPI_MCA_btl_tcp_if_exclude=lo,{bridge}; MPICH: "
                "HYDRA_IFACE=NAME",
            )


def _multicast(facts: Sequence[Facts]) -> Iterator[Finding]:
    without = {each.host: each.multicast_problem for each in facts if each.multicast_problem}
    for host, problem in without.items():
        yield Finding(
            "warning",
            f"IP multicast does not come back to its sender on {host} ({problem})",
            "only a transport that uses IP multicast needs it; allow 239.0.0.0/8 in the firewall",
        )
    if not without:
        yield Finding("ok", "IP multicast comes back to its sender on every host")


def _shared_memory(facts: Sequence[Facts]) -> Iterator[Finding]:
    for host, ranks in _hosts_of(facts).items():
        space, wanted = facts[ranks[0]].shared_memory, len(ranks) * _SHARED_BYTES
        if space.problem is not None:
            yield Finding("warning", f"no shared memory on {host}: {space.problem}", "mount a tmpfs there")
        elif space.free < wanted and len(ranks) > 1:
            yield Finding(
                "warning",
                f"{space.path} of {host} has {bytes_text(space.free)} free; {bytes_text(wanted)} would do "
                f"for {counted(len(ranks), 'rank')}",
                "remove leftovers there; in a container: --shm-size=1g",
            )
        else:
            yield Finding("ok", f"{space.path} of {host}: {bytes_text(space.free)} free")


def _scratch(facts: Sequence[Facts]) -> Iterator[Finding]:
    for host, ranks in _hosts_of(facts).items():
        space = facts[ranks[0]].scratch
        if space.problem is not None:
            yield Finding(
                "error",
                f"no scratch space on {host}: {space.problem}",
                "set TMPDIR to a directory of its disk",
            )
        elif space.free < _SCRATCH_BYTES:
            yield Finding(
                "warning",
                f"scratch space {space.path} of {host} has only {bytes_text(space.free)} free",
                "set TMPDIR to a directory on a larger disk",
            )
        elif len(space.path) > _LONGEST_SCRATCH:
            yield Finding(
                "warning",
                f"TMPDIR on {host} is {len(space.path)} characters long: MPI makes sockets there",
                f"set TMPDIR to a path of at most {_LONGEST_SCRATCH} characters",
            )
        else:
            yield Finding("ok", f"scratch space {space.path} of {host}: {bytes_text(space.free)} free")


def _files(facts: Sequence[Facts]) -> Iterator[Finding]:
    few = [each for each in facts if each.open_files is not None and each.open_files < _OPEN_FILES]
    for host, least in {each.host: each.open_files for each in few}.items():
        yield Finding(
            "warning", f"at most {least} open files on {host}", f"raise the limit: ulimit -n {_OPEN_FILES}"
        )
    small = {each.host: each.file_bytes for each in facts if each.file_bytes is not None}
    for host, largest in small.items():
        yield Finding(
            "warning",
            f"no file may be larger than {bytes_text(largest)} on {host}",
            "raise the limit: ulimit -f unlimited",
        )
    if not few and not small:
        yield Finding("ok", f"at least {_OPEN_FILES} open files, of any size")


def _job(facts: Sequence[Facts]) -> Iterator[Finding]:
    broken = {problem: ranks for problem, ranks in _by(facts, lambda e: e.job_problem).items() if problem}
    for problem, ranks in broken.items():
        remedy = "correct it" if len(ranks) == len(facts) else "put it on the same path on every host"
        yield Finding("error", f"on {_ranks_text(ranks)}: {problem}", remedy)
    found = _by(facts, lambda each: each.job)
    if broken or set(found) == {None}:
        return
    if len(found) > 1:
        yield Finding(
            "error",
            "the job's files differ: "
            + "; ".join(f"CRC {crc:08x} on {_ranks_text(ranks)}" for crc, ranks in found.items() if crc),
            "copy it to all hosts anew, or put it on a file system that all share",
        )
    else:
        yield Finding("ok", "the job loads, and its files are the same on every rank")


def _hosts_of(facts: Sequence[Facts]) -> dict[str, list[int]]:
    return _by(facts, lambda each: each.host)


def _by(facts: Sequence[Facts], key: Callable[[Facts], T]) -> dict[T, list[int]]:
    """Return the ranks by what `key` says of them."""
    found: dict[T, list[int]] = {}
    for each in facts:
        found.setdefault(key(each), []).append(each.rank)
    return found


def _parties(found: dict[T, list[int]]) -> str:
    return "; ".join(f"{value} on {_ranks_text(ranks)}" for value, ranks in found.items())


def _ranks_text(ranks: Sequence[int]) -> str:
    named = ", ".join(map(str, ranks[:6]))
    more = f" and {len(ranks) - 6} more" if len(ranks) > 6 else ""
    return f"rank{'s' if len(ranks) > 1 else ''} {named}{more}"
