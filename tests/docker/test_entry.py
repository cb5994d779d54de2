"""The scripts that make a cluster: real sshd, not as root, on hosts in namespaces of their own."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docker.containers import Image, network

WAIT = 30


def until(true: Callable[[], bool], logs: Path) -> None:
    """Wait for something to become true; fail with all logs after WAIT seconds."""
    deadline = time.monotonic() + WAIT
    while not true():
        texts = [f"{log.name}: {log.read_text()}" for log in logs.glob("*.log")]
        assert time.monotonic() < deadline, "\n".join(texts)
        time.sleep(0.1)


def cluster_of(image: Image) -> Path:
    """Return what all hosts see as /cluster."""
    return next(here for here, there in image.volumes.items() if there == "/cluster")


def test_a_head_waits_for_its_workers_and_reaches_each_by_name(here: Image, place: Path) -> None:
    shared = cluster_of(here)
    with network(place, here, ["head", "worker1", "worker2"]) as running:
        workers = [running.start("worker1", "worker")]  # before there are any keys
        head = running.start("head", "head", env={"CODED_MR_WORKERS": "2", "CODED_MR_SLOTS": "3"})
        until(lambda: (shared / "hosts" / "worker1").exists(), place)
        assert not (shared / "hostfile").exists()
        workers.append(running.start("worker2", "worker"))
        until((shared / "hostfile").exists, place)
        assert (shared / "hostfile").read_text() == "worker1 slots=3\nworker2 slots=3\n"
        for name in ("worker1", "worker2"):
            done = head.execute("ssh", name, "hostname; id -u; echo $PATH")
            assert (done.returncode, done.stdout) == (0, f"{name}\n1000\n/usr/bin:/bin\n"), done.stderr
        between = workers[0].execute("ssh", "worker2", "hostname")
        assert (between.returncode, between.stdout) == (0, "worker2\n"), between.stderr
        for container in workers:
            assert container.execute(*here.entrypoint, "health").returncode == 0
        unhealthy = head.execute(*here.entrypoint, "health")  # it serves nothing
        assert unhealthy.returncode == 1
        assert "port 2222" in unhealthy.stderr


def test_keys_are_private_and_made_once(here: Image, place: Path) -> None:
    keys = cluster_of(here) / "keys"
    with network(place, here, ["head"]) as running:
        head = {"CODED_MR_WORKERS": "0"}
        assert running.start("head", "head", "true", env=head).wait(WAIT) == 0
        first = {path.name: path.read_bytes() for path in keys.iterdir()}
        assert set(first) == {"user", "user.pub", "host", "host.pub", "authorized_keys", "known_hosts"}
        assert keys.stat().st_mode & 0o777 == 0o700
        assert {path.stat().st_mode & 0o777 for path in keys.iterdir()} == {0o600}
    with network(place, here, ["head"]) as running:
        assert running.start("head", "head", "true", env=head).wait(WAIT) == 0
        assert {path.name: path.read_bytes() for path in keys.iterdir()} == first


def test_only_the_key_opens_a_worker(here: Image, place: Path) -> None:
    with network(place, here, ["head", "worker1"]) as running:
        running.start("worker1", "worker")
        head = running.start("head", "head")
        until((cluster_of(here) / "hostfile").exists, place)
        other = head.execute("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "/tmp/other")
        assert other.returncode == 0, other.stderr
        own = ["-F", "none", "-p", "2222", "-o", "StrictHostKeyChecking=no", "-o", "BatchMode=yes"]
        own += ["-o", "UserKnownHostsFile=/tmp/known", "-o", "IdentitiesOnly=yes"]
        refused = head.execute("ssh", *own, "-i", "/tmp/other", "worker1", "true")
        assert refused.returncode == 255
        assert "Permission denied (publickey)" in refused.stderr
        assert head.execute("ssh", *own, "-i", "/cluster/keys/user", "worker1", "true").returncode == 0


def test_a_name_that_does_not_answer_is_not_counted(here: Image, place: Path) -> None:
    shared = cluster_of(here)
    (shared / "hosts").mkdir(mode=0o777)
    (shared / "hosts").chmod(0o777)
    (shared / "hosts" / "gone").touch()
    with network(place, here, ["head", "worker1"]) as running:
        running.start("worker1", "worker")
        running.start("head", "head")
        until((shared / "hostfile").exists, place)
        assert (shared / "hostfile").read_text() == "worker1 slots=1\n"


@pytest.mark.parametrize(
    ("role", "message"),
    [
        ("head", "head.sh: only 0 of 2 workers answered within 1 s: none"),
        ("worker", "worker.sh: no keys in /cluster/keys after 1 s: is a head running on the same volume?"),
    ],
)
def test_waiting_ends_with_a_reason(here: Image, place: Path, role: str, message: str) -> None:
    with network(place, here, ["alone"]) as running:
        env = {"CODED_MR_WORKERS": "2", "CODED_MR_WAIT": "1"}
        alone = running.start("alone", role, env=env)
        assert alone.wait(WAIT) == 1
    assert message in alone.log.read_text()


def test_nothing_is_done_as_root(here: Image, place: Path) -> None:
    root = Image(here.layer, "0:0", here.entrypoint, here.workdir, here.env, here.volumes)
    with network(place, root, ["head"]) as running:
        head = running.start("head", "head")
        assert head.wait(WAIT) == 1
    assert "a cluster is not run as root" in head.log.read_text()
    assert not (cluster_of(here) / "keys").exists()


def test_a_head_runs_its_command_and_gives_its_status(here: Image, place: Path) -> None:
    with network(place, here, ["head", "worker1"]) as running:
        running.start("worker1", "worker")
        argv = ["head", "bash", "-c", 'cat "$PRTE_MCA_prte_default_hostfile"; exit 7']
        head = running.start("head", *argv)
        assert head.wait(WAIT) == 7
    assert "worker1 slots=1\n" in head.log.read_text()
