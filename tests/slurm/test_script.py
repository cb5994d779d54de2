"""The batch scripts: known texts, and what they do where there is no Slurm but some stand-ins."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from coded_mr.cli import main
from coded_mr.slurm import Batch, build_script

TOP = Path(__file__).parents[2]
GOLDEN = TOP / "tests" / "data" / "slurm"
BATCHES = {
    "mpirun": Batch(run=("job.py", "in"), output="out", python="python3", ranks=5),
    "srun": Batch(
        run=("job.py", "a file", "*.txt", "-p", "3", "-r", "2"),
        output="my result",
        python="/opt/my env/bin/python",
        ranks=5,
        launcher="srun",
        mpi="pmi2",
        name="words",
        time="1-00:00:00",
        nodes=2,
        partition="long",
        account="me",
    ),
}


@pytest.mark.parametrize("name", BATCHES)
def test_a_script_is_what_it_was(name):
    assert build_script(BATCHES[name]) == (GOLDEN / f"{name}.sh").read_text()


@pytest.mark.parametrize("launcher", ["mpirun", "srun"])
def test_the_scripts_to_edit_are_what_sbatch_prints(capsys, launcher):
    words = ["jobs/wordcount.py", "data/*.txt", "-o", "words", "-p", "3", "-r", "2", "--python", "python3"]
    plugin = ["--mpi", "pmix"] if launcher == "srun" else []
    words[0] = str(TOP / words[0])
    assert main(["sbatch", *words, "--launcher", launcher, *plugin]) == 0
    printed = capsys.readouterr().out.replace(str(TOP / "jobs"), "jobs")
    assert printed == (TOP / "slurm" / f"{launcher}.sh").read_text()


@pytest.fixture
def run(tmp_path):
    """Run a script with launchers that note what they are asked for, and do as `launch` says."""
    tools, local = tmp_path / "bin", tmp_path / "local"
    tools.mkdir()
    local.mkdir()
    log = tmp_path / "log"

    def stand_in(name: str, body: str) -> None:
        (tools / name).write_text(f'#!/bin/bash\nprintf "%s " {name} "$@" >> {log}\necho >> {log}\n{body}\n')
        (tools / name).chmod(0o755)

    def start(launcher: str, launch: str, *, restarts: int = 0) -> subprocess.CompletedProcess[str]:
        log.write_text("")
        stand_in("mpirun", launch)
        step = 'for last; do :; done; case "$*" in *-m\\ coded_mr*) ' + launch + " ;; esac"
        stand_in("srun", f'{step}\nshift 3; case "$1" in mkdir|test|rm) exec "$@" ;; esac')
        stand_in("python", "exit 0")
        batch = Batch(
            run=("job.py", "in"), output="out", python=str(tools / "python"), ranks=2, launcher=launcher
        )
        (tmp_path / "batch.sh").write_text(build_script(batch))
        given = {"SLURM_JOB_ID": "7", "SLURM_JOB_NAME": "j", "SLURM_NTASKS": "2", "SLURM_JOB_NUM_NODES": "1"}
        given |= {"SLURM_TMPDIR": str(local), "SLURM_RESTART_COUNT": str(restarts)}
        return subprocess.run(
            ["bash", "batch.sh"],
            cwd=tmp_path,
            env={**os.environ, **given, "PATH": f"{tools}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    return start


SUCCEED = (
    'mkdir -p out; echo " \\"job_id\\": \\"$CODED_MR_JOB_ID\\"" > out/_SUCCESS; '
    'echo "$TMPDIR" > seen; test -d "$TMPDIR"'
)


@pytest.mark.parametrize("launcher", ["mpirun", "srun"])
def test_a_job_has_private_scratch_that_goes_with_it(run, tmp_path, launcher):
    done = run(launcher, SUCCEED)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "seen").read_text() == f"{tmp_path / 'local' / 'coded-mr-7'}\n"
    assert not list((tmp_path / "local").iterdir())
    (call,) = [line for line in (tmp_path / "log").read_text().splitlines() if "-m coded_mr run" in line]
    assert " -u -m coded_mr run --json j-7.json job.py in -o out" in call
    assert ("--kill-on-bad-exit=1" in call) == (launcher == "srun")


@pytest.mark.parametrize("launcher", ["mpirun", "srun"])
def test_the_status_of_the_launcher_is_the_scripts(run, tmp_path, launcher):
    assert run(launcher, "exit 9").returncode == 9
    assert not list((tmp_path / "local").iterdir())


@pytest.mark.parametrize("launcher", ["mpirun", "srun"])
def test_a_launcher_that_ends_well_without_a_result_is_not_believed(run, launcher):
    done = run(launcher, "exit 0")
    assert done.returncode == 1
    assert "out is not complete" in done.stderr


def test_an_output_of_another_job_does_not_count(run, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "_SUCCESS").write_text(' "job_id": "slurm-77-0"\n')
    assert run("mpirun", "exit 9", restarts=1).returncode == 9


def test_a_finished_job_is_not_run_again(run, tmp_path):
    assert run("mpirun", SUCCEED).returncode == 0
    done = run("mpirun", "exit 9", restarts=1)
    assert done.returncode == 0
    assert "has finished already" in done.stdout
    assert (tmp_path / "log").read_text() == ""


def test_only_what_this_job_left_is_removed(run, tmp_path):
    for name in (".out.coded-mr-slurm-7-0", ".out.coded-mr-slurm-77-0", ".out.coded-mr-old-slurm-7-0"):
        (tmp_path / name).mkdir()
    assert run("mpirun", SUCCEED, restarts=1).returncode == 0
    left = {path.name for path in tmp_path.iterdir() if path.name.startswith(".out")}
    assert left == {".out.coded-mr-slurm-77-0", ".out.coded-mr-old-slurm-7-0"}
