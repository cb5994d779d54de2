"""Build the image without a Docker daemon, on a base that stands in for the official one.

buildah executes the Dockerfile; the base, which no registry is asked for, is Debian's minimal system and
its Python. So the Dockerfile's own steps are proved, not the official image below them. Layers and base
are kept in a directory of the user's between runs (CODED_MR_TEST_IMAGES names another).
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import ssl
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.docker.containers import Image

__all__ = ["Built", "Failed", "NoBase", "built", "lacking"]

BASE = "localhost/coded-mr-base:bookworm"
TAG = "localhost/coded-mr-test"
PACKAGES = "ca-certificates,python3,python3-pip,python3-venv"
BASE_PATH = "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LIMIT_SECONDS = 400
CA = "/etc/ssl/certs/ca-certificates.crt"


class Failed(Exception):
    """Say which command failed, and how."""


class NoBase(Exception):
    """Say why no base image could be made: not a fault of the Dockerfile."""


@dataclass(frozen=True)
class Built:
    """Hold a built image: what containers start from, and its configuration as an image builder tells it."""

    image: Image
    config: Mapping[str, Any]


def lacking() -> str | None:
    """Return why nothing can be built here, or None."""
    programs = ("buildah", "debootstrap")
    absent = [name for name in programs if shutil.which(name, path=_path()) is None]
    if absent:
        return f"no {', '.join(absent)}: apt-get install --no-install-recommends buildah debootstrap"
    return None if os.geteuid() == 0 else "debootstrap must be run by root"


@contextmanager
def built(top: Path, scratch: Path) -> Iterator[Built]:
    """Build docker/Dockerfile of the repository at `top` and mount the result, for as long as it is used.

    Raises NoBase when the base cannot be made; fails when the Dockerfile cannot be built.
    """
    with _store() as store:
        if _run(_buildah(store, "inspect", "--type", "image", BASE)).returncode:
            try:
                _make_base(store)
            except Failed as error:
                raise NoBase(f"no base image can be made here, is there a network? {error}") from error
        # The first stage has a name as well, so that pruning what no name leads to keeps its layers.
        for tag, options in ((f"{TAG}-build", ["--target", "build"]), (TAG, [])):
            options = [*options, *_options(scratch), "--tag", tag]
            _sure(_buildah(store, "build", *options, "--file", str(top / "docker" / "Dockerfile"), str(top)))
        _sure(_buildah(store, "rmi", "--prune"))
        config = json.loads(_sure(_buildah(store, "inspect", "--type", "image", TAG)))["Docker"]["config"]
        container = _sure(_buildah(store, "from", "--pull-never", TAG))
        layer = Path(_sure(_buildah(store, "mount", container)))
    try:
        yield Built(_image(layer, config), config)
    finally:
        _sure(_buildah(store, "rm", container))


def _options(scratch: Path) -> list[str]:
    """Return how to build: without a daemon, and with this machine's certificate authorities for pip."""
    pip = scratch / "pip.conf"
    pip.write_text(f"[global]\ncert = {CA}\n")
    authorities = ssl.get_default_verify_paths().cafile or CA
    options = ["--isolation", "chroot", "--pull-never", "--layers", "--format", "docker"]
    options += ["--volume", f"{authorities}:{CA}:ro", "--volume", f"{pip}:/etc/pip.conf:ro"]
    return [*options, "--build-arg", f"PYTHON_IMAGE={BASE}"]


def _image(layer: Path, config: Mapping[str, Any]) -> Image:
    env = dict(entry.split("=", 1) for entry in config["Env"])
    return Image(layer, config["User"], tuple(config["Entrypoint"]), config["WorkingDir"], env)


def _make_base(store: Path) -> None:
    container = _sure(_buildah(store, "from", "scratch"))
    try:
        root = Path(_sure(_buildah(store, "mount", container)))
        _sure(["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(root)])
        for marker in root.glob("usr/lib/python3*/EXTERNALLY-MANAGED"):
            marker.unlink()  # in the official image, too, Python is there for pip to add to
        for package in root.glob("var/cache/apt/archives/*.deb"):
            package.unlink()
        _sure(_buildah(store, "config", "--env", f"PATH={BASE_PATH}", container))
        _sure(_buildah(store, "commit", container, BASE))
    finally:
        _sure(_buildah(store, "rm", container))


@contextmanager
def _store() -> Iterator[Path]:
    """Give the directory of images, to one process at a time."""
    chosen = os.environ.get("CODED_MR_TEST_IMAGES")
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    store = Path(chosen) if chosen else Path(cache) / "coded-mr-test-images"
    store.mkdir(parents=True, exist_ok=True)
    with (store / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield store


def _buildah(store: Path, *arguments: str) -> list[str]:
    places = ["--root", str(store / "storage"), "--runroot", str(store / "run")]
    return ["buildah", *places, "--storage-driver", "overlay", *arguments]


def _sure(command: Sequence[str]) -> str:
    """Return what a command prints; raise Failed with what it complained of when it fails."""
    done = _run(command)
    if done.returncode:
        raise Failed(f"{' '.join(command)} failed:\n{done.stdout[-1000:]}{done.stderr[-4000:]}")
    return done.stdout.strip()


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["timeout", "-k", "5", str(LIMIT_SECONDS), *command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env={**os.environ, "PATH": _path()},
    )


def _path() -> str:
    return f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
