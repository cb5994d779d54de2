"""Make a cluster from its layout, and take it down."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO

from benchmarks.cluster.layout import BUS, Layout
from benchmarks.cluster.needs import ClusterError, call, lacking
from benchmarks.cluster.state import HEAD, Cluster, Process, nodes_directory

__all__ = ["crash", "create", "destroy"]

_ALL = ("--net", "--uts", "--mount", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc")

_SETTINGS = """
for kind in all default; do
    [ ! -e /proc/sys/net/ipv6 ] || echo 1 >/proc/sys/net/ipv6/conf/$kind/disable_ipv6
done
"""

_HOST = f"""
set -e
hostname "$1"
mount -t sysfs sysfs /sys
mount --bind "$2" /etc/hosts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /var/tmp
{_SETTINGS}
ip link set lo up
echo up
exec >/dev/null 2>&1
while :; do
    sleep 86400 &
    wait $!
done
"""

_SWITCH = f"""
set -e
{_SETTINGS}
echo 1 >/proc/sys/net/ipv4/ip_forward
for kind in all default; do echo 0 >/proc/sys/net/ipv4/conf/$kind/rp_filter; done
[ ! -e /proc/sys/net/ipv4/fib_multipath_hash_policy ] || echo 1 >/proc/sys/net/ipv4/fib_multipath_hash_policy
ip link set lo up
echo up
exec >/dev/null 2>&1
exec sleep infinity
"""

_AGENT = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
read -r pid started <{nodes}/"$1" || exit 255
shift
exec nsenter -t "$pid" -m -u -i -n -p -- env TMPDIR=/var/tmp sh -c 'cd "$0" && eval "$1"' "$PWD" "$*"
"""


def create(
    state: Path, layout: Layout, rate: str | None, *, burst: str = "16kb", queue: str = "50ms", slots: int = 1
) -> Cluster:
    """Make a cluster; `rate`, `burst` and `queue` as tc writes them (rate None: no limit).

    A frame is dropped when it would have to wait longer than `queue` for its link. `slots` ranks fit a host.
    Leaves nothing behind when it fails. Raises ClusterError with the reason: what this machine lacks, or a
    state directory that is in use.
    """
    reason = lacking(bus=layout.bus is not None)
    if reason is not None:
        raise ClusterError(f"no cluster can be emulated here: {reason}")
    if nodes_directory(state).exists():
        raise ClusterError(f"{state} holds a cluster already: destroy it first")
    if state.exists() and (not state.is_dir() or any(state.iterdir())):
        raise ClusterError(f"{state} is not an empty directory, and destroying the cluster would remove it")
    nodes_directory(state).mkdir(parents=True)
    hosts = tuple(name for name in layout.addresses if name != HEAD)
    cluster = Cluster(state.resolve(), hosts, slots, layout.cables, layout.bus)
    try:
        _write_files(cluster, layout)
        _start_nodes(cluster, layout)
        _connect(cluster, layout, None if rate is None else f"rate {rate} burst {burst} latency {queue}")
        _await_links(cluster)
    except BaseException:
        destroy(state)
        raise
    return cluster


def destroy(state: Path) -> bool:
    """Take a cluster down, with everything that runs on its hosts; tell whether there was one."""
    nodes = nodes_directory(state)
    if not nodes.is_dir():
        return False
    _kill([Process(*map(int, node.read_text().split())) for node in nodes.iterdir()])
    shutil.rmtree(state)
    return True


def crash(cluster: Cluster, host: str) -> None:
    """Kill everything on a host at once; its link goes too."""
    _kill([cluster.process(host)])


def _write_files(cluster: Cluster, layout: Layout) -> None:
    names = [("127.0.0.1", "localhost"), *((address, name) for name, address in layout.addresses.items())]
    cluster.hosts_file.write_text("".join(f"{address} {name}\n" for address, name in names))
    cluster.agent.write_text(_AGENT.format(nodes=shlex.quote(str(nodes_directory(cluster.state)))))
    cluster.agent.chmod(0o755)
    cluster.save()


def _start_nodes(cluster: Cluster, layout: Layout) -> None:
    """Start the process of every node at once, then wait until all are up."""
    hosts = {
        name: ["unshare", *_ALL, "sh", "-c", _HOST, "host", name, str(cluster.hosts_file)]
        for name in layout.addresses
    }
    switches = {name: ["unshare", "--net", "sh", "-c", _SWITCH] for name in layout.switches}
    with ExitStack() as stack:
        outputs: dict[str, tuple[int, IO[str]]] = {}
        for name, command in (hosts | switches).items():
            output = stack.enter_context(_detached(command)).stdout
            assert output is not None
            pid = int(output.readline())
            _record(cluster, name, pid)  # of a host not its own yet, but killing this one kills it too
            outputs[name] = pid, output
        for name, (pid, output) in outputs.items():
            if (line := output.readline()) != "up\n":
                raise ClusterError(f"{name} did not start: {' '.join((line + output.read()).split())}")
            if name in hosts:
                _record(cluster, name, int(Path(f"/proc/{pid}/task/{pid}/children").read_text()))


def _detached(command: list[str]) -> subprocess.Popen[str]:
    """Start a command in a session of its own that is no child of ours; it prints its id first."""
    return subprocess.Popen(
        ["setsid", "--fork", "sh", "-c", 'echo $$ && exec "$@"', "sh", *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _record(cluster: Cluster, node: str, pid: int) -> None:
    process = Process.of(pid)
    (nodes_directory(cluster.state) / node).write_text(f"{process.pid} {process.started}\n")


def _connect(cluster: Cluster, layout: Layout, limit: str | None) -> None:
    pid = {node: cluster.process(node).pid for node in (*layout.addresses, *layout.switches)}
    call(
        ["ip", "-batch", "-"],
        [
            f"link add {c.a_port} netns {pid[c.a]} type veth peer name {c.b_port} netns {pid[c.b]}"
            for c in layout.cables
        ],
    )
    shaping = {node: list(lines) for node, lines in layout.shaping.items()}
    if limit is not None:
        for node, port in (end for cable in layout.cables if cable.limited for end in cable.ends):
            shaping.setdefault(node, []).append(f"qdisc add dev {port} root tbf {limit}")
        if layout.bus is not None:
            shaping[layout.bus].append(f"qdisc add dev {BUS} root tbf {limit}")
    for node, lines in layout.setup.items():
        inside = ["nsenter", "-t", str(pid[node]), "-n"]
        # Without segmentation on the interface every frame is one of the wire, to counters and to the limit.
        whole = ["link set eth0 gso_max_segs 1"] if node in layout.addresses else []
        call([*inside, "ip", "-batch", "-"], whole + list(lines))
        if node in shaping:
            call([*inside, "tc", "-batch", "-"], shaping[node])


def _await_links(cluster: Cluster, seconds: float = 10.0) -> None:
    """Wait until every link carries and every port of a bridge forwards: the kernel may take a second."""
    deadline = time.monotonic() + seconds
    for node in cluster.nodes:
        inside = ["nsenter", "-t", str(cluster.process(node).pid), "-n"]
        while idle := [
            link["ifname"]
            for link in json.loads(call([*inside, "ip", "-d", "-j", "link", "show", "type", "veth"]))
            if link["operstate"] != "UP"
            or link.get("linkinfo", {}).get("info_slave_data", {}).get("state", "forwarding") != "forwarding"
        ]:
            if time.monotonic() > deadline:
                raise ClusterError(f"links {idle} of {node} are not up after {seconds:.0f} seconds")
            time.sleep(0.02)


def _kill(processes: list[Process], seconds: float = 10.0) -> None:
    """Kill processes, those of them that still run, and wait for their end."""
    deadline = time.monotonic() + seconds
    left = [process for process in processes if process.alive]
    for process in left:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    while left := [process for process in left if process.alive]:
        if time.monotonic() > deadline:
            raise ClusterError(f"processes {[p.pid for p in left]} run on {seconds:.0f} s after SIGKILL")
        time.sleep(0.01)
