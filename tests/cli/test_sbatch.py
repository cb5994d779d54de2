"""`coded-mr sbatch`: a script that is sized by the planner and keeps the user's words."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from coded_mr.cli import main
from coded_mr.plan.planner import Request, wanted_ranks
from coded_mr.theory.costs import Costs

TOP = Path(__file__).parents[2]
WORDCOUNT = str(TOP / "jobs" / "wordcount.py")


@pytest.fixture
def script(capsys):
    """Return the script that some words give."""

    def make(*words: str) -> str:
        assert main(["sbatch", *words]) == 0
        return capsys.readouterr().out

    return make


def directives(text: str) -> dict[str, str]:
    lines = [line.removeprefix("#SBATCH --") for line in text.splitlines() if line.startswith("#SBATCH --")]
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


def words_of(text: str) -> list[str]:
    """Read the words of RUN as bash does."""
    (line,) = [line for line in text.splitlines() if line.startswith("RUN=")]
    shown = subprocess.run(
        ["bash", "-c", f'{line}\nprintf "%s\\0" "${{RUN[@]}}"'], capture_output=True, text=True, check=True
    )
    return shown.stdout.split("\0")[:-1]


@pytest.mark.parametrize("costs", ["1,2,1", "1,20,1", "3,1,1/2"])
def test_the_ranks_are_k_star(script, costs):
    text = script(WORDCOUNT, "in", "-o", "out", "-p", "4", "--costs", costs)
    wanted = wanted_ranks(Request(partitions=4), Costs.parse(costs)) or 4
    assert directives(text)["ntasks"] == str(wanted)
    assert words_of(text) == [WORDCOUNT, "in", "-p", "4", "--costs", costs]


@pytest.mark.parametrize(
    ("words", "ranks"),
    [
        (["-n", "7"], 7),
        (["-p", "3", "-r", "2"], 5),
        (["-p", "3", "--helpers", "1"], 4),
        (["-p", "6", "--scheme", "uncoded"], 6),
        (["-p", "4"], 4),
    ],
)
def test_the_ranks_are_what_the_options_need(script, words, ranks):
    text = script(WORDCOUNT, "in", "-o", "out", *words)
    assert directives(text)["ntasks"] == str(ranks)
    # How many ranks there are is Slurm's to say: sbatch --ntasks must win.
    assert words_of(text) == [WORDCOUNT, "in", *([] if words[0] == "-n" else words)]


def test_words_reach_the_job_as_they_were_given(script):
    inputs = ["a file", "*.txt", "it's", "$HOME", 'quo"te']
    text = script(str(TOP / "jobs" / "grep.py"), *inputs, "--pattern", "a b|$c", "-o", "o u't", "-n", "2")
    assert words_of(text) == [str(TOP / "jobs" / "grep.py"), *inputs, "--pattern", "a b|$c"]
    assert shlex.quote("o u't") in text


def test_slurm_gets_its_options(script):
    slurm = [
        "--time",
        "1-12:00:00",
        "--nodes",
        "2",
        "--partition",
        "long",
        "--account",
        "me",
        "--job-name",
        "x",
    ]
    asked = directives(script(WORDCOUNT, "in", "-o", "out", "-n", "5", "--overwrite", *slurm))
    expected = {"time": "1-12:00:00", "nodes": "2", "ntasks-per-node": "3", "partition": "long"}
    expected |= {"account": "me", "job-name": "x", "cpus-per-task": "1", "requeue": ""}
    assert expected.items() <= asked.items()


def test_overwrite_stays(script):
    assert "--overwrite" in words_of(script(WORDCOUNT, "in", "-o", "out", "-n", "5", "--overwrite"))


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "how many ranks?"),
        (["--costs", "1,2,1"], "how many ranks?"),
        (["-n", "2", "--time", "soon"], "no time limit of Slurm"),
        (["-n", "2", "--nodes", "3"], "need 1 to 2 nodes"),
        (["-n", "2", "--partition", "a b"], "use one word"),
        (["-n", "2", "--account", "a\n#SBATCH --exclusive"], "use one word"),
        (["-n", "2", "--mpi", "pmix"], "--launcher srun"),
        (["-p", "2", "-r", "3"], "more than 2 partitions"),
        (["-n", "2", "--shortest", "3"], "unrecognized arguments"),
    ],
)
def test_mistakes_are_refused_with_a_remedy(capsys, words, problem):
    assert main(["sbatch", WORDCOUNT, "in", "-o", "out", *words]) == 2
    printed = capsys.readouterr()
    assert problem in printed.err
    assert printed.out == ""
