"""Jobs on a real Slurm: the scripts that `coded-mr sbatch` prints, through both launchers."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from coded_mr.cli import main
from coded_mr.io.output import read_success
from tests.mpi.interpreters import Mpi, candidates, usable
from tests.samples import PLAN, sample
from tests.slurm.cluster import Ended, Slurm

TOP = Path(__file__).parents[2]
FAILING = TOP / "tests" / "mpi" / "failing_job.py"
SURROUNDINGS = TOP / "tests" / "slurm" / "surroundings_job.py"
WORDS = Counter({"the": 300, "quick": 100, "brown": 100, "fox": 200})
# A Slurm that promises more processors than there are: do not bind ranks to them, do not spin.
CROWDED = {
    "PYTHONPATH": str(TOP),
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}
# What starts the ranks, and whose they are: srun's plugins speak one MPI each.
LAUNCHERS = {"mpirun": "openmpi", "srun": "mpich", "srun-pmix": "openmpi"}
PLUGINS = {"srun": "pmi2", "srun-pmix": "pmix"}


@pytest.fixture(params=["mpirun", "srun"])
def launcher(request: pytest.FixtureRequest, slurm: Slurm) -> str:
    name: str = request.param
    if PLUGINS.get(name) == "pmix" and not slurm.has_pmix():
        pytest.skip("Slurm finds no PMIx library here: apt-get install libpmix-dev")
    return name


@pytest.fixture
def python(launcher: str) -> str:
    """Give a Python whose MPI goes with the launcher."""
    for _, python in candidates():
        found = usable(python)
        if isinstance(found, Mpi) and found.flavour == LAUNCHERS[launcher]:
            return python
    pytest.skip(f"no Python with {LAUNCHERS[launcher]} here: tests/run.sh makes both")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    for number in range(5):
        text = " ".join(WORDS) + "\nthe fox\nthe\n"
        (tmp_path / "in" / f"{number}.txt").write_text(text * 20)
    return tmp_path


def submit(slurm: Slurm, folder: Path, python: str, launcher: str, capsys, *words: str) -> str:
    """Print a script for 5 ranks on 3 nodes as a user does, and submit it."""
    if "-o" not in words:
        words = (*words, "-o", "out", *PLAN)
    options = ["--launcher", launcher.partition("-")[0], "--nodes", "3", "--time", "5", "--python", python]
    plugin = ["--mpi", PLUGINS[launcher]] if launcher in PLUGINS else []
    assert main(["sbatch", *words, *options, *plugin]) == 0
    script = folder / "batch.sh"
    script.write_text(capsys.readouterr().out)
    return slurm.submit(script, cwd=folder, env=CROWDED)


def run(slurm: Slurm, folder: Path, python: str, launcher: str, capsys, *words: str) -> Ended:
    return slurm.ended(submit(slurm, folder, python, launcher, capsys, *words))


def counted(output: Path) -> dict[str, int]:
    lines = [line for part in output.glob("part-*") for line in part.read_text().splitlines()]
    return {word: int(count) for word, count in (line.split("\t") for line in lines)}


@pytest.mark.parametrize("launcher", LAUNCHERS, indirect=True)
def test_word_count_completes_with_its_output_and_report(slurm, tmp_path, python, launcher, capsys):
    words = sample("wordcount")
    words.write(tmp_path / "in")
    job = submit(slurm, tmp_path, python, launcher, capsys, *words.words("in", "out"))
    ended = slurm.ended(job)
    assert (ended.state, ended.status) == ("COMPLETED", 0), ended.output
    words.check(tmp_path / "out")
    report = json.loads((tmp_path / f"wordcount-{job}.json").read_text())
    assert report["job_id"] == read_success(str(tmp_path / "out"))["job_id"] == f"slurm-{job}-0"
    assert "solver-helper with 3 solvers and 2 helpers" in ended.output
    assert not list(slurm.local.iterdir())


@pytest.mark.parametrize(
    ("launcher", "name"),
    [("mpirun", "terasort"), ("srun-pmix", "streaming")],
    indirect=["launcher"],
)
def test_the_output_is_that_of_everywhere_else(slurm, tmp_path, python, launcher, capsys, name):
    job = sample(name)
    job.write(tmp_path / "in")
    ended = run(slurm, tmp_path, python, launcher, capsys, *job.words("in", "out"))
    assert (ended.state, ended.status) == ("COMPLETED", 0), ended.output
    job.check(tmp_path / "out")


def test_every_rank_has_scratch_on_its_node_and_one_thread(slurm, folder, python, launcher, capsys):
    job = submit(slurm, folder, python, launcher, capsys, str(SURROUNDINGS), "in")
    ended = slurm.ended(job)
    assert ended.state == "COMPLETED", ended.output
    (seen,) = counted(folder / "out")
    assert seen == f"{slurm.local}/coded-mr-{job} there, 1 thread"


@pytest.mark.parametrize("word", ["map-raises", "reduce-kills"])
def test_a_failing_job_fails_with_its_message_and_without_output(
    slurm, folder, python, launcher, capsys, word
):
    (folder / "in" / "bad.txt").write_text(f"all is well\n{word}\n")
    ended = run(slurm, folder, python, launcher, capsys, str(FAILING), "in")
    assert ended.state == "FAILED"
    assert ended.status != 0
    assert not (folder / "out").exists()
    if word == "map-raises":
        assert "ValueError: trouble in map" in ended.output
        assert "bad.txt, line 2" in ended.output


def test_a_finished_job_that_is_started_again_leaves_its_output_alone(slurm, folder, capsys):
    python = usable(candidates()[0][1])
    if not isinstance(python, Mpi):
        pytest.skip(python)
    job = submit(slurm, folder, python.python, "mpirun", capsys, str(TOP / "jobs" / "wordcount.py"), "in")
    assert slurm.ended(job).state == "COMPLETED"
    before = (folder / "out" / "_SUCCESS").stat()
    slurm.requeue(job)
    ended = slurm.ended(job, restarts=1)
    assert (ended.state, ended.status) == ("COMPLETED", 0), ended.output
    assert "has finished already" in ended.output
    assert (folder / "out" / "_SUCCESS").stat() == before


def test_an_attempt_that_was_cut_short_is_cleared_and_run_again(slurm, folder, capsys):
    python = usable(candidates()[0][1])
    if not isinstance(python, Mpi):
        pytest.skip(python)
    (folder / "in" / "bad.txt").write_text("map-raises\n")
    job = submit(slurm, folder, python.python, "mpirun", capsys, str(FAILING), "in")
    assert slurm.ended(job).state == "FAILED"
    (folder / "in" / "bad.txt").unlink()
    left = folder / f".out.coded-mr-slurm-{job}-0"
    left.mkdir()
    (left / "part-00000").write_text("half of it")
    slurm.requeue(job)
    ended = slurm.ended(job, restarts=1)
    assert (ended.state, ended.status) == ("COMPLETED", 0), ended.output
    assert {word: counted(folder / "out")[word] for word in WORDS} == WORDS
    assert not left.exists()


def doctor(slurm: Slurm, folder: Path, python: str, plugin: str) -> Ended:
    """Examine 4 ranks that srun starts."""
    script = folder / "doctor.sh"
    script.write_text(
        f"#!/bin/bash\n#SBATCH --ntasks=4 --time=2 --output=%x-%j.log\n"
        f"srun --mpi={plugin} --kill-on-bad-exit=1 {python} -u -m coded_mr doctor {FAILING}\n"
    )
    return slurm.ended(slurm.submit(script, cwd=folder, env=CROWDED))


@pytest.mark.parametrize("launcher", ["srun"], indirect=True)
def test_doctor_finds_ranks_that_srun_connects_well(slurm, folder, python, launcher):
    ended = doctor(slurm, folder, python, "pmi2")
    assert (ended.state, ended.status) == ("COMPLETED", 0), ended.output
    assert "srun --mpi=pmi2 started 4 ranks, and MPI's world has as many" in ended.output
    assert "4 ranks on 1 host" in ended.output


@pytest.mark.parametrize("launcher", ["srun"], indirect=True)
def test_doctor_finds_ranks_that_srun_does_not_connect(slurm, folder, python, launcher):
    ended = doctor(slurm, folder, python, "none")
    assert ended.state == "FAILED"
    assert ended.output.count("announced 4 ranks (SLURM_STEP_NUM_TASKS=4)") == 1
    assert "--mpi=pmi2 (MPICH)" in ended.output


@pytest.mark.parametrize("launcher", ["srun"], indirect=True)
def test_the_topology_is_slurms(slurm, folder, python, launcher, capsys):
    """All nodes are one host here: ranks are told apart by the nodes that srun names."""
    words = [str(TOP / "jobs" / "wordcount.py"), "in", "--topology", "slurm", "--transport", "relay"]
    job = submit(slurm, folder, python, launcher, capsys, *words)
    ended = slurm.ended(job)
    assert (ended.state, ended.status) == ("COMPLETED", 0), ended.output
    assert counted(folder / "out") == WORDS
    network = json.loads((folder / f"wordcount-{job}.json").read_text())["network"]
    assert network["total"] != "0"
    assert {network["busiest_from"], network["busiest_to"]} <= {"n1", "n2", "n3", "s1", "s2", "core"}


@pytest.mark.parametrize("hidden", [False, True], ids=["scontrol", "addresses"])
@pytest.mark.parametrize("launcher", ["srun"], indirect=True)
def test_doctor_shows_the_switches_above_every_node(slurm, folder, python, launcher, hidden):
    script = folder / "doctor.sh"
    path = "PATH=/nowhere " if hidden else ""
    script.write_text(
        "#!/bin/bash\n#SBATCH --nodes=3 --ntasks=3 --ntasks-per-node=1 --time=2 --output=%x-%j.log\n"
        f"srun --mpi=pmi2 /usr/bin/env {path}{python} -u -m coded_mr doctor --topology slurm\n"
    )
    ended = slurm.ended(slurm.submit(script, cwd=folder, env=CROWDED))
    assert (ended.state, ended.status) == ("COMPLETED", 0), ended.output
    for rank, way in enumerate(
        ("n1 below s1 below core", "n2 below s1 below core", "n3 below s2 below core")
    ):
        assert f"{way}: rank {rank}" in ended.output
