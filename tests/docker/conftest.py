"""Fixtures: hosts that are this machine's programs in namespaces, and the image, built for real."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docker import builder, containers
from tests.docker.containers import Image

DOCKER = Path(__file__).parents[2] / "docker"
USER = 1000
PASSWD = f"""\
root:x:0:0::/root:/bin/bash
sshd:x:101:65534::/run/sshd:/bin/false
coded:x:{USER}:{USER}::/home/coded:/bin/bash
"""


def pytest_configure(config: pytest.Config) -> None:
    """Name the marker of tests that need the image built: minutes at first, seconds later."""
    config.addinivalue_line("markers", "image: builds docker/Dockerfile (minutes at first, then seconds)")


@pytest.fixture
def compose() -> dict[str, Any]:
    """Read docker/compose.yaml; merge keys are resolved by the parser."""
    yaml = pytest.importorskip("yaml", reason="reading the compose file takes PyYAML")
    loaded: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text())
    return loaded


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Give a directory for what a network leaves: logs."""
    top = tmp_path / "network"
    top.mkdir()
    return top


@pytest.fixture
def here(tmp_path: Path) -> Image:
    """Give an image that is this machine, with our scripts, their user and a shared directory added."""
    reason = containers.lacking()
    if reason is not None:
        pytest.skip(reason)
    for program in ("sshd", "ssh", "ssh-keygen"):
        if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin") is None:
            pytest.skip(f"there is no {program}: install openssh-server and openssh-client")
    scripts, home, cluster = tmp_path / "scripts", tmp_path / "home", tmp_path / "cluster"
    shutil.copytree(DOCKER, scripts)
    for directory in (home, cluster):
        directory.mkdir(mode=0o700)
        os.chown(directory, USER, USER)
    passwd = tmp_path / "passwd"
    passwd.write_text(PASSWD)
    return Image(
        layer=Path("/"),
        user=f"{USER}:{USER}",
        entrypoint=("/opt/coded_mr/docker/entrypoint.sh",),
        env={"PATH": "/usr/bin:/bin"},
        volumes={
            scripts: "/opt/coded_mr/docker",
            home: "/home/coded",
            cluster: "/cluster",
            passwd: "/etc/passwd",
        },
    )


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[builder.Built]:
    """Build the image from docker/Dockerfile; skip, saying what is missing, where it cannot be."""
    reason = containers.lacking() or builder.lacking()
    if reason is not None:
        pytest.skip(reason)
    try:
        with builder.built(DOCKER.parent, tmp_path_factory.mktemp("image")) as image:
            yield image
    except builder.NoBase as error:
        pytest.skip(str(error))
