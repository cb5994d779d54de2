"""What a packet costs by each transport: `python -m benchmarks.transports`.

Starts MPI itself, on 8 ranks of this machine. Across an emulated cluster:
`python -m benchmarks.cluster mpirun python -m benchmarks.transports`. Every rank sends packets of one size to
some ranks; printed are the microseconds for a packet, the least of several shuffles, all transports in turn.
"""

from __future__ import annotations

import argparse
import os
import sys
import uuid

from coded_mr.engine.hosts import hosts_of
from coded_mr.launch import announced, find_mpirun, run_world

_RANKS = 8
_SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
_RECEIVERS = (1, 3)
_ROUNDS = 5
# Packets of a rank in one shuffle, and their bytes.
_MOST, _MOST_BYTES = 64, 4_000_000


def main(words: list[str]) -> int:
    """Take part as a rank of the world that there is, or start one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.transports", description="Packets a second.")
    parser.add_argument("--transports", default="groups,unicast", help="(default %(default)s)")
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help="(default %(default)s)")
    options = parser.parse_args(words)
    if announced(os.environ) is not None:
        _measure(options.transports.split(","), options.rounds)
        return 0
    mpirun = find_mpirun(os.environ)
    print(f"{mpirun.flavour} {mpirun.version}, {_RANKS} ranks on this machine", flush=True)
    command = [sys.executable, "-m", "benchmarks.transports", *words]
    return run_world(mpirun, _RANKS, command, job_id=uuid.uuid4().hex, finished=lambda: True)


def _measure(names: list[str], rounds: int) -> None:
    from mpi4py import MPI

    from coded_mr.engine.multicast import open_carrier
    from coded_mr.engine.shuffle import Limits
    from coded_mr.engine.trial import Trials

    world = MPI.COMM_WORLD
    trials = {name: Trials(world, open_carrier(world, name), Limits(), hosts_of(world)) for name in names}
    if world.rank == 0:
        print(
            f"{'receivers':>9} {'bytes':>9} {'packets':>7}  us a packet: "
            + " ".join(f"{n:>9}" for n in names)
        )
    for receivers in _RECEIVERS:
        for size in _SIZES:
            each = min(_MOST, max(_MOST_BYTES // size, 1))
            least = dict.fromkeys(names, float("inf"))
            for _ in range(rounds):
                for name, trial in trials.items():
                    least[name] = min(least[name], trial.run(receivers, size, each).seconds)
            if world.rank == 0:
                packets = each * world.size
                found = " ".join(f"{least[name] / packets * 1e6:>9.1f}" for name in names)
                print(f"{receivers:>9} {size:>9,} {packets:>7}  {'':>13} {found}", flush=True)
    for trial in trials.values():
        trial.carrier.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
