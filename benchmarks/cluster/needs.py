"""What an emulated cluster needs of a machine, and what this one lacks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

from coded_mr.errors import CodedMRError

__all__ = ["ClusterError", "call", "hindrance", "lacking"]

_PROGRAMS = ("ip", "tc", "unshare", "nsenter", "setsid")
_TRIAL = """
set -e
cat /proc/1/task/1/children
ip link set lo up
ip link add port0 type veth peer name port1
ip link set port0 gso_max_segs 1
ip link add bridge0 type bridge
tc qdisc add dev port0 root tbf rate 1mbit burst 16kb latency 50ms
"""
_TRIAL_BUS = """
ip link add bus0 type ifb
tc qdisc add dev port1 handle ffff: ingress
tc filter add dev port1 parent ffff: protocol all u32 match u32 0 0 action mirred egress redirect dev bus0
"""


class ClusterError(CodedMRError):
    """Say why an emulated cluster cannot be made or used."""

    exit_status = 2


def lacking(*, bus: bool = False) -> str | None:
    """Return why no cluster can be made here, or None; tries it in namespaces that vanish at once.

    `bus`: with what a shared bus needs besides.
    """
    namespaces = ["unshare", "--net", "--uts", "--mount", "--ipc", "--pid", "--fork", "--mount-proc"]
    rights = "making namespaces and links takes root, or a container with CAP_NET_ADMIN and CAP_SYS_ADMIN"
    trial = _TRIAL + (_TRIAL_BUS if bus else "")
    return hindrance(_PROGRAMS, rights, [*namespaces, "sh", "-c", trial])


def hindrance(programs: Sequence[str], rights: str, trial: Sequence[str]) -> str | None:
    """Return why this machine makes no namespaces, or None.

    It has to be Linux, have the programs and run us as root, else `rights` is the reason; `trial`, a command,
    has to succeed.
    """
    if sys.platform != "linux":
        return f"namespaces are Linux's, this is {sys.platform}"
    for program in programs:
        if shutil.which(program) is None:
            return f"there is no {program}: install iproute2 and util-linux"
    if os.geteuid() != 0:
        return rights
    done = subprocess.run(
        trial, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode:
        return f"a trial in namespaces of its own failed: {' '.join(done.stderr.split())}"
    return None


def call(command: Sequence[str], lines: Sequence[str] | None = None) -> str:
    """Run a command, with lines as its input, and return what it prints.

    Raises ClusterError with what it complained of.
    """
    done = subprocess.run(
        command,
        input="".join(f"{line}\n" for line in lines or ()),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise ClusterError(f"{' '.join(command)} failed: {' '.join(done.stderr.split())}")
    return done.stdout
