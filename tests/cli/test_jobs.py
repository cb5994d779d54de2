"""Commands in place of JOB: found among the words of every command that takes a job."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from coded_mr.cli import main
from coded_mr.cli.jobs import job_files, with_job
from coded_mr.cli.run import Run
from coded_mr.cli.world import read
from coded_mr.errors import UsageError
from coded_mr.streaming import StreamingJob

JOB = """
from coded_mr import Job

class Mine(Job):
    mapper: str = ""

    def map(self, file):
        yield file.name, 1
"""


@pytest.mark.parametrize("words", [["--mapper", "cat", "in"], ["in", "-o", "out", "--mapper=cat"]])
def test_commands_stand_for_a_job_once(words: list[str]) -> None:
    assert with_job(words) == ["coded_mr.streaming", *words]
    assert with_job(with_job(words)) == with_job(words)


def test_words_with_a_job_stay_as_they_are() -> None:
    words = ["job.py", "in", "-o", "out", "--pattern", "x"]
    assert with_job(words) == words
    assert with_job([]) == []


def test_commands_are_read_with_the_inputs_anywhere() -> None:
    words = ["in", "--mapper", "cat -n", "more", "-o", "out", "--reducer", "uniq -c", "--add-tabs", "-n", "3"]
    options, job = read(Run(), words)
    assert job == StreamingJob(mapper="cat -n", reducer="uniq -c", add_tabs=True)
    assert (options.inputs, options.ranks) == (["in", "more"], 3)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--reducer", "cat", "in", "-o", "out"], "required: --mapper"),
        (["--mapper", "cat", "-o", "out"], "required: INPUT"),
        (["--mapper", "no-such", "in", "-o", "out"], "the mapper `no-such` cannot run"),
    ],
)
def test_what_is_missing_is_named(words: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read(Run(), words)


def test_a_job_must_not_take_the_names(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(JOB)
    with pytest.raises(
        UsageError, match="the parameter mapper of Mine has the name of an option that stands"
    ):
        read(Run(), [str(tmp_path / "mine.py"), "in", "-o", "out"])


@pytest.mark.parametrize("word", ["mine.py", "mine.py:Mine"])
def test_a_job_beside_commands_is_no_input(
    word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(JOB)
    with pytest.raises(UsageError, match=rf"JOB and --mapper both name a job: leave out {word} or"):
        read(Run(), [word, "in", "--mapper", "cat", "-o", "out"])


@pytest.mark.parametrize("text", ["print('no job')", "not Python", None])
def test_other_files_of_python_are_inputs(
    text: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path("other.py").write_text(text)
    options, _ = read(Run(), ["other.py", "--mapper", "cat", "-o", "out"])
    assert options.inputs == ["other.py"]


@pytest.mark.parametrize("command", ["run", "check", "sbatch"])
def test_help_on_commands_asks_for_no_job(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--mapper", "cat", "--help"])
    usage, _, rest = capsys.readouterr().out.partition("\n\n")
    assert "--mapper MAPPER" in usage
    assert "JOB" not in usage
    assert "a file with a job class" not in rest
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert "JOB INPUT" in capsys.readouterr().out


def test_a_missing_command_is_said_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--mapper", "no-such", "in"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_files_of_a_job_are_its_own_and_its_scripts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(JOB.replace("mapper", "word"))
    Path("script.py").touch()
    assert job_files(["mine.py"]) == job_files(["mine.py", "--word", "x"]) == [Path("mine.py")]
    words = with_job(["--mapper", "python3 script.py", "--reducer", "cat"])
    assert job_files(words) == [Path("script.py")]
    with pytest.raises(UsageError, match="unrecognized arguments: --other"):
        job_files(["mine.py", "--other"])


def test_a_batch_script_keeps_the_commands_whole(capsys: pytest.CaptureFixture[str]) -> None:
    command = "sh -c 'tr A-Z a-z | cat'"
    assert main(["sbatch", "--mapper", command, "in", "-o", "out", "-p", "3", "-r", "2"]) == 0
    script = capsys.readouterr().out
    assert "#SBATCH --job-name=streaming\n" in script
    (line,) = [line for line in script.splitlines() if line.startswith("RUN=(")]
    words = shlex.split(line.removeprefix("RUN=(").partition(")  #")[0])
    assert words == ["--mapper", command, "in", "-p", "3", "-r", "2"]
