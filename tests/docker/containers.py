"""Containers without a container engine: namespaces, an overlay on what an image holds, one network.

Nothing outlives a network: every mount, link and process is in namespaces that end with it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.cluster.needs import hindrance

__all__ = ["Container", "Image", "Network", "lacking", "network"]

STOP_SECONDS = 10
_PROGRAMS = ("unshare", "nsenter", "setpriv", "chroot", "ip", "bash")
_NAMESPACES = ("--mount", "--uts", "--ipc", "--net", "--pid", "--fork", "--kill-child")

# $1: host name, $2: an empty directory, $3: the layer below, $4: the log; then, until `--`, pairs of a
# directory or file and where it is seen; then the command. Like an init it waits for the command; when
# standard input ends, as it does when the tests die, everything in here does.
_INSIDE = """
set -e
hostname "$1"
ip link set lo up
mount -t tmpfs tmpfs "$2"
mkdir "$2/upper" "$2/work" "$2/root"
mount -t overlay -o "lowerdir=$3,upperdir=$2/upper,workdir=$2/work" overlay "$2/root"
root=$2/root
log=$4
shift 4
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
while [ "$1" != -- ]; do
    if [ -d "$1" ]; then mkdir -p "$root/$2"; else touch "$root/$2"; fi
    mount --bind "$1" "$root/$2"
    shift 2
done
shift
echo up
read -r _
exec 3<&0 >>"$log" 2>&1 </dev/null
setpriv --no-new-privs chroot "$@" 3<&- &
command=$!
{
    read -r _ <&3 || true
    kill -KILL "$command"
} &
wait "$command"
"""


@dataclass(frozen=True)
class Image:
    """Describe what containers start from: a directory, and how its processes run.

    `volumes` are seen in every container: from a path here to a path there.
    """

    layer: Path
    user: str
    entrypoint: tuple[str, ...]
    workdir: str = "/"
    env: Mapping[str, str] = field(default_factory=dict)
    volumes: Mapping[Path, str] = field(default_factory=dict)

    def command(self, argv: Sequence[str], env: Mapping[str, str]) -> list[str]:
        """Return what follows `chroot ROOT`: the command in the image's surroundings and no others."""
        variables = {"HOME": "/home/coded", **self.env, **env}
        settings = [f"{name}={value}" for name, value in variables.items()]
        return ["/usr/bin/env", "-i", "-C", self.workdir, *settings, *argv]


@dataclass(frozen=True)
class Container:
    """Hold a running container: `process` ends when it does; its output goes to `log`.

    `pid` is its first process, `root` its file system as that process sees it.
    """

    image: Image
    process: subprocess.Popen[str]
    pid: int
    root: Path
    log: Path

    def wait(self, timeout: float) -> int:
        """Return its exit status; fail when it does not end in `timeout` seconds."""
        return self.process.wait(timeout)

    def execute(
        self, *argv: str, env: Mapping[str, str] | None = None, timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """Run a command beside the container's own, as the image's user."""
        enter = ["nsenter", "-t", str(self.pid), "-m", "-u", "-i", "-n", "-p", "setpriv", "--no-new-privs"]
        root = ["chroot", f"--userspec={self.image.user}", str(self.root)]
        command = [*enter, *root, *self.image.command(argv, env or {})]
        return subprocess.run(
            ["timeout", "-k", "5", str(timeout), *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


class Network:
    """Start containers on one switch; all their names are known from the start."""

    def __init__(self, top: Path, image: Image, names: Sequence[str]) -> None:
        """Keep files in the empty directory `top`."""
        self._top, self._image = top, image
        self._addresses = {name: f"10.77.0.{number}" for number, name in enumerate(names, 1)}
        self._processes: list[subprocess.Popen[str]] = []
        self._hosts = top / "hosts"
        lines = ["127.0.0.1 localhost", *(f"{address} {name}" for name, address in self._addresses.items())]
        self._hosts.write_text("".join(f"{line}\n" for line in lines))
        switch = "ip link add switch type bridge && ip link set switch up && echo up && read -r _"
        self._switch = self._held(switch, top / "switch.log")

    def start(self, name: str, *argv: str, env: Mapping[str, str] | None = None) -> Container:
        """Start a container with these arguments to its entry point."""
        image, place = self._image, self._top / name
        place.mkdir(exist_ok=True)
        volumes = {**image.volumes, self._hosts: "/etc/hosts"}
        binds = [text for here, there in volumes.items() for text in (str(here), there)]
        # chroot runs where the overlay is: a directory below the one that was given
        command = [f"--userspec={image.user}", f"{place}/root"]
        command += image.command([*image.entrypoint, *argv], env or {})
        log = self._top / f"{name}.log"
        arguments = (name, str(place), str(image.layer), str(log), *binds, "--", *command)
        process = self._held(_INSIDE, log, *arguments)
        container = Container(image, process, _child(process.pid), place / "root", log)
        self._connect(name, container.pid)
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
        return container

    def stop(self) -> None:
        """End all containers and the switch."""
        for process in reversed(self._processes):
            process.communicate(timeout=STOP_SECONDS)

    def _held(self, script: str, log: Path, *arguments: str) -> subprocess.Popen[str]:
        """Start a script in namespaces of its own, up to where it says "up" and waits for a line."""
        with log.open("a") as errors:
            process = subprocess.Popen(
                ["unshare", *_NAMESPACES, "bash", "-c", script, "container", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self._processes.append(process)
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said == "up\n", f"no start: {said}{log.read_text()}"
        return process

    def _connect(self, name: str, pid: int) -> None:
        switch, port = str(_child(self._switch.pid)), f"to-{name}"
        into = ["nsenter", "-t", switch, "-n", "ip"]
        inside = ["nsenter", "-t", str(pid), "-n", "ip"]
        for command in (
            [*into, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", str(pid)],
            [*into, "link", "set", port, "master", "switch", "up"],
            [*inside, "addr", "add", f"{self._addresses[name]}/24", "dev", "eth0"],
            [*inside, "link", "set", "eth0", "up"],
        ):
            subprocess.run(command, check=True, capture_output=True, text=True)


@contextmanager
def network(top: Path, image: Image, names: Sequence[str]) -> Iterator[Network]:
    """Give a network on which containers of `image` can be started; stop them all at the end."""
    running = Network(top, image, names)
    try:
        yield running
    finally:
        running.stop()


def lacking() -> str | None:
    """Return why no container can be emulated here, or None."""
    trial = (
        "set -e; mount -t tmpfs tmpfs /mnt; mkdir /mnt/{u,w,r}; ip link add switch type bridge; "
        "mount -t overlay -o lowerdir=/,upperdir=/mnt/u,workdir=/mnt/w overlay /mnt/r; "
        "mount -t proc proc /mnt/r/proc"
    )
    command = ["unshare", *_NAMESPACES, "bash", "-c", trial]
    return hindrance(_PROGRAMS, "making namespaces and mounts takes root", command)


def _child(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    assert len(children) == 1, children
    return int(children[0])
