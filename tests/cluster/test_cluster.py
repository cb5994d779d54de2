"""Emulated clusters: hosts apart, links that count and limit, MPI jobs across, and nothing left behind."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.cluster import (
    Cluster,
    ClusterError,
    crash,
    create,
    destroy,
    enter,
    fat_tree,
    job,
    link_bytes,
    star,
)
from benchmarks.cluster.launching import environment
from coded_mr.launch import Mpirun
from tests.mpi.interpreters import Mpi
from tests.samples import RANKS, sample

Make = Callable[..., Cluster]

PAYLOAD = 1_000_000
DATAGRAMS, DATAGRAM = 50, 1400  # fit a receive buffer, whatever else the machine does
RECEIVE = """
import socket, sys
server = socket.create_server(("", 5000))
print("ready", flush=True)
peer, _ = server.accept()
print(sum(iter(lambda: len(peer.recv(65536)), 0)))
"""
SEND = f"""
import socket, sys
with socket.create_connection((sys.argv[1], 5000)) as peer:
    peer.sendall(bytes({PAYLOAD}))
"""
JOIN = f"""
import socket
member = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
member.bind(("239.1.1.1", 5000))
everywhere = socket.inet_aton("239.1.1.1") + socket.inet_aton("0.0.0.0")
member.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, everywhere)
member.settimeout(20)
print("ready", flush=True)
print(sum(len(member.recv(2000)) for _ in range({DATAGRAMS})))
"""
MULTICAST = f"""
import socket
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range({DATAGRAMS}):
    sender.sendto(bytes({DATAGRAM}), ("239.1.1.1", 5000))
"""


def run(cluster: Cluster, host: str, *command: str) -> str:
    done = subprocess.run(
        enter(cluster, host, command), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def listening(cluster: Cluster, host: str, program: str) -> Iterator[subprocess.Popen[str]]:
    command = enter(cluster, host, ["timeout", "30", sys.executable, "-c", program])
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def grown(cluster: Cluster, before: dict[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    return {link: count - before[link] for link, count in link_bytes(cluster).items()}


def test_hosts_are_apart(emulated: Make, tmp_path: Path) -> None:
    cluster = emulated(star(2, "switch"))
    assert cluster.hosts == ("h1", "h2")
    for host in ("head", *cluster.hosts):
        assert run(cluster, host, "hostname") == f"{host}\n"
        assert run(cluster, host, "sh", "-c", "pwd") == f"{Path.cwd()}\n"
    run(cluster, "h1", "touch", "/dev/shm/mine", "/var/tmp/mine")
    assert run(cluster, "h1", "ls", "/dev/shm", "/var/tmp") != run(
        cluster, "h2", "ls", "/dev/shm", "/var/tmp"
    )
    assert run(cluster, "h2", "ls", "/sys/class/net").split() == ["eth0", "lo"]
    assert run(cluster, "h2", "sh", "-c", "echo $TMPDIR") == "/var/tmp\n"
    with pytest.raises(ClusterError, match="no host h3"):
        enter(cluster, "h3", ["true"])


def test_a_switch_counts_and_limits_each_link(emulated: Make) -> None:
    cluster = emulated(star(3, "switch"))
    with listening(cluster, "h2", RECEIVE) as receiver:
        before = link_bytes(cluster)
        run(cluster, "h1", sys.executable, "-c", SEND, "h2")
        assert receiver.communicate(timeout=30)[0] == f"{PAYLOAD}\n"
    counted = grown(cluster, before)
    for link in (("h1", "switch"), ("switch", "h2")):
        assert PAYLOAD < counted[link] < 1.1 * PAYLOAD
    assert counted["h3", "switch"] + counted["switch", "h3"] < 0.01 * PAYLOAD
    queue = json.loads(run(cluster, "h3", "tc", "-j", "qdisc", "show", "dev", "eth0"))[0]
    assert (queue["kind"], queue["options"]["rate"]) == ("tbf", 100_000_000 // 8)


def test_a_bus_charges_a_multicast_once(emulated: Make) -> None:
    cluster = emulated(star(4, "bus"))
    with ExitStack() as stack:
        members = [stack.enter_context(listening(cluster, host, JOIN)) for host in ("h2", "h3", "h4")]
        before = link_bytes(cluster)
        run(cluster, "h1", sys.executable, "-c", MULTICAST)
        for member in members:
            assert member.communicate(timeout=30)[0] == f"{DATAGRAMS * DATAGRAM}\n"
    counted = grown(cluster, before)
    frames = DATAGRAMS * (DATAGRAM + 28 + 14)
    assert frames <= counted["bus", "bus"] < 1.05 * frames
    for host in ("h2", "h3", "h4"):
        assert frames <= counted["switch", host] < 1.05 * frames


def test_with_snooping_a_multicast_comes_down_to_members_only(emulated: Make) -> None:
    cluster = emulated(star(3, "switch", snooping=True))
    frames = DATAGRAMS * (DATAGRAM + 28 + 14)
    spared = False
    for _ in range(50):  # a bridge floods until its first query has been answered
        with listening(cluster, "h2", JOIN) as member:
            before = link_bytes(cluster)
            run(cluster, "h1", sys.executable, "-c", MULTICAST)
            assert member.communicate(timeout=30)[0] == f"{DATAGRAMS * DATAGRAM}\n"
            spared = grown(cluster, before)["switch", "h3"] < 0.1 * frames
        if spared:
            break
    assert spared


def test_a_fat_tree_carries_from_pod_to_pod(emulated: Make) -> None:
    cluster = emulated(fat_tree(2))
    with listening(cluster, "h1", RECEIVE) as receiver:
        before = link_bytes(cluster)
        run(cluster, "h0", sys.executable, "-c", SEND, "h1")
        assert receiver.communicate(timeout=30)[0] == f"{PAYLOAD}\n"
    counted = grown(cluster, before)
    way = ["h0", "e0-0", "a0-0", "c0", "a1-0", "e1-0", "h1"]
    for link in pairwise(way):
        assert PAYLOAD < counted[link] < 1.1 * PAYLOAD, link


def test_taking_down_ends_what_runs_and_may_be_repeated(emulated: Make) -> None:
    cluster = emulated(star(1, "none"), rate=None)
    with subprocess.Popen(enter(cluster, "h1", ["sleep", "600"])) as sleeper:
        assert destroy(cluster.state)
        assert sleeper.wait(timeout=30) != 0
    assert not cluster.state.exists()
    assert not destroy(cluster.state)
    with pytest.raises(ClusterError, match="create it first"):
        Cluster.load(cluster.state)


def test_a_cluster_is_not_made_twice_nor_by_halves(emulated: Make, tmp_path: Path) -> None:
    cluster = emulated(star(1, "switch"))
    with pytest.raises(ClusterError, match="already"):
        emulated(star(1, "switch"))
    assert run(cluster, "h1", "hostname") == "h1\n"
    with pytest.raises(ClusterError, match="fast"):
        create(tmp_path / "other", star(1, "switch"), "fast")
    assert not (tmp_path / "other").exists()


def test_a_directory_of_other_things_is_left_alone(emulated: Make, tmp_path: Path) -> None:
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster" / "thesis").touch()
    with pytest.raises(ClusterError, match="not an empty directory"):
        emulated(star(1, "none"), rate=None)
    assert not destroy(tmp_path / "cluster")
    assert (tmp_path / "cluster" / "thesis").exists()


def test_a_dead_host_is_named(emulated: Make) -> None:
    cluster = emulated(star(2, "none"), rate=None)
    crash(cluster, "h2")
    with pytest.raises(ClusterError, match=r"h2 .* is down"):
        enter(cluster, "h2", ["true"])
    assert destroy(cluster.state)


def test_jobs_that_do_not_fit_are_refused(emulated: Make) -> None:
    cluster = emulated(star(2, "none"), rate=None, slots=2)
    for ranks in (0, 5):
        with pytest.raises(ClusterError, match=r"1\.\.4 ranks"):
            job(cluster, Mpirun("mpirun", "openmpi", "5"), ranks, ["true"])
    with pytest.raises(ClusterError, match="neither"):
        job(cluster, Mpirun("mpirun", "unknown", ""), 2, ["true"])


def test_ranks_go_round_the_hosts_or_fill_them(emulated: Make, mpi: Mpi) -> None:
    cluster = emulated(star(3, "none"), rate=None, slots=2)
    program = "from mpi4py import MPI; w = MPI.COMM_WORLD; print(w.gather(MPI.Get_processor_name()) or '')"
    for spread, hosts in ((True, ["h1", "h2", "h3", "h1", "h2"]), (False, ["h1", "h1", "h2", "h2", "h3"])):
        done = subprocess.run(
            ["timeout", "60", *job(cluster, mpi.launcher, 5, [mpi.python, "-c", program], spread=spread)],
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.split("\n")[:-1].count(str(hosts)) == 1, done.stdout


@pytest.mark.parametrize("name", ["wordcount", "terasort"])
def test_jobs_across_the_hosts_give_the_output_of_everywhere_else(
    emulated: Make, mpi: Mpi, tmp_path: Path, name: str
) -> None:
    cluster = emulated(star(RANKS, "bus"))
    found = sample(name)
    found.write(tmp_path / "in")
    before = link_bytes(cluster)
    command = [mpi.python, "-m", "coded_mr", "run", *found.words(tmp_path / "in", tmp_path / "out")]
    report = tmp_path / "report.json"
    done = subprocess.run(
        ["timeout", "-k", "5", "120", *job(cluster, mpi.launcher, RANKS, [*command, "--json", str(report)])],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found.check(tmp_path / "out")
    ran = json.loads(report.read_text())
    assert {rank["host"] for rank in ran["ranks"]} == set(cluster.hosts)
    carried, measured = grown(cluster, before)["bus", "bus"], ran["measured"]
    assert carried > measured["interface_bytes"] > measured["wire_bytes"] > measured["coded_bytes"] > 0
