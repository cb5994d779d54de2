"""Examine an MPI world: the facts of its ranks, how many communicators live at once, whose clock is off."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from coded_mr.doctor.checks import clocks, judge
from coded_mr.doctor.facts import JobLoader, Mpi, gather_facts
from coded_mr.doctor.finding import Finding
from coded_mr.doctor.network import where
from coded_mr.engine.epochs import MAX_LIVE
from coded_mr.engine.waiting import barrier, gather
from coded_mr.errors import LaunchError
from coded_mr.launch import announced, check_world
from coded_mr.topology import own_address

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["describe_mpi", "examine", "launched"]

_PROBED = 128
# Live communicators of one process, as measured with these libraries; others do not tell.
_KNOWN = {"Open MPI": 65_532, "MPICH": 2_046}
_ROUND_TRIPS = 10


def describe_mpi() -> Mpi:
    """Return which MPI this process runs."""
    from mpi4py import MPI

    library = MPI.Get_library_version().replace("\0", "").splitlines()[0].partition(", package")[0]
    major, minor = MPI.Get_version()
    return Mpi(" ".join(library.split()), f"{major}.{minor}", MPI.Query_thread())


def launched(env: Mapping[str, str], size: int) -> Finding:
    """Compare the world with what the launcher announced."""
    try:
        world = announced(env)
        check_world(world, size)
    except LaunchError as error:
        return Finding("error", str(error), "start the ranks with the launcher of the MPI that mpi4py uses")
    if world is None:
        return Finding("ok", "no launcher: one rank")
    return Finding("ok", f"{world.launcher} started {world.size} ranks, and MPI's world has as many")


def examine(
    world: MPI.Intracomm, env: Mapping[str, str], job: JobLoader | None, topology: str | None = None
) -> list[Finding] | None:
    """Return on rank 0 what was found, None elsewhere; collective. `topology` is that of `find_sites`."""
    started = launched(env, world.size)
    facts = gather(world, gather_facts(world.rank, describe_mpi(), job))
    communicators = _communicators(world)
    skews = _clock_skews(world)
    addresses = gather(world, own_address())
    barrier(world)
    if facts is None or addresses is None:
        return None
    network = [] if topology is None else [where(addresses, topology)]
    return [started, *judge(facts), *network, communicators, clocks(facts, skews)]


def _communicators(world: MPI.Intracomm) -> Finding:
    """Make some communicators at once; a limit that is far away is quoted, not tried."""
    from mpi4py import MPI

    library = MPI.Get_library_version()
    known = next((limit for name, limit in _KNOWN.items() if name in library), None)
    made: list[MPI.Intracomm] = []
    try:
        for _ in range(_PROBED):
            made.append(world.Dup())
    except MPI.Exception as error:
        return Finding(
            "error",
            f"MPI makes only {len(made)} communicators at once ({error.Get_error_string()})",
            f"coded-mr keeps up to {MAX_LIVE}: use another MPI, or plans of few groups (a small -p or -r 1)",
        )
    finally:
        for comm in made:
            comm.Free()
    limit = "its limit is not known" if known is None else f"by what is known of it {known:,} are possible"
    return Finding(
        "ok", f"MPI makes {_PROBED} communicators at once ({limit}; coded-mr keeps up to {MAX_LIVE:,})"
    )


def _clock_skews(world: MPI.Intracomm) -> list[float]:
    """Return on rank 0 how many seconds the clock of each rank is ahead of its own; [] elsewhere.

    The answer to the fastest of some round trips was written half way: the error is at most half its time.
    """
    if world.rank:
        for _ in range(_ROUND_TRIPS):
            world.recv(source=0)
            world.send(time.time(), dest=0)
        return []
    return [0.0, *(_skew_of(world, rank) for rank in range(1, world.size))]


def _skew_of(world: MPI.Intracomm, rank: int) -> float:
    trips: list[tuple[float, float]] = []
    for _ in range(_ROUND_TRIPS):
        sent = time.time()
        world.send(None, dest=rank)
        answer = world.recv(source=rank)
        took = time.time() - sent
        trips.append((took, answer - sent - took / 2))
    return min(trips)[1]
