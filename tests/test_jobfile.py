"""Check how a job is found, and how its parameters become options."""

from __future__ import annotations

import argparse
import configparser
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

import coded_mr
from coded_mr.errors import UsageError
from coded_mr.job import Job, RecordJob
from coded_mr.jobfile import Parameter, add_parameters, build_job, load_job, parameters

ROOT = Path(__file__).parents[1]
HEAD = "from coded_mr import Job\n"
JOB = "class {}(Job):\n    def map(self, file):\n        return []\n"

Write = Callable[..., str]


class Sample(Job):
    """Do something.

    pattern: what to find, 100% of it
    mode: how
    """

    whole_files: ClassVar[bool] = True
    limit: ClassVar[int] = 3

    pattern: str
    ignore_case: bool = False
    count: int = 7
    share: float = 0.5
    where: Path = Path("here")
    name: str | None = None
    mode: Literal["fast", "slow"] = "fast"
    level: Literal[1, 2] | None = None

    def map(self, file: Any) -> list[tuple[str, int]]:
        return []


@pytest.fixture(autouse=True)
def _same_imports_after(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str, name: str = "myjob.py") -> str:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return str(path)

    return write


def parser_for(cls: Any) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(exit_on_error=False)
    parser.add_argument("inputs", nargs="*")
    parser.add_argument("-o", "--output")
    add_parameters(parser, cls)
    return parser


def built(cls: Any, *words: str) -> Any:
    return build_job(cls, parser_for(cls).parse_args(words))


def test_a_file_with_one_job_needs_no_name(write: Write) -> None:
    path = write(HEAD + JOB.format("Mine"))
    assert load_job(path).__name__ == "Mine"
    assert load_job(f"{path}:Mine").__name__ == "Mine"


def test_a_relative_path_and_an_odd_name_are_fine(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(HEAD + JOB.format("Mine"), "my-job.v2.py")
    monkeypatch.chdir(tmp_path)
    assert load_job("my-job.v2.py").__name__ == "Mine"


def test_two_files_of_one_name_are_two_modules(write: Write) -> None:
    first = load_job(write(HEAD + JOB.format("Mine"), "a/job.py"))
    second = load_job(write(HEAD + JOB.format("Mine"), "b/job.py"))
    assert first.__module__ != second.__module__
    assert first.__module__ in sys.modules


def test_a_module_beside_the_job_imports(write: Write) -> None:
    write("BASE = 41\n", "beside_the_job.py")
    path = write(HEAD + "from beside_the_job import BASE\n" + JOB.format("Mine") + "    answer = BASE + 1\n")
    assert vars(load_job(path))["answer"] == 42


def test_a_dotted_module_of_the_current_directory(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("", "jobs_of_mine/__init__.py")
    write(HEAD + JOB.format("Mine"), "jobs_of_mine/first.py")
    monkeypatch.chdir(tmp_path)
    assert load_job("jobs_of_mine.first").__name__ == "Mine"
    assert load_job("jobs_of_mine.first:Mine").__name__ == "Mine"


def test_annotations_as_strings_keep_class_variables_apart(write: Write) -> None:
    text = "from __future__ import annotations\nfrom typing import ClassVar\n" + HEAD + JOB.format("Mine")
    cls = load_job(write(text + "    n: int = 1\n    fixed: ClassVar[int] = 2\n"))
    assert [parameter.name for parameter in parameters(cls)] == ["n"]


def test_imported_jobs_do_not_count(write: Write) -> None:
    write(HEAD + JOB.format("Other"), "other_jobs.py")
    path = write("from other_jobs import Other\n" + HEAD + JOB.format("Mine"))
    assert load_job(path).__name__ == "Mine"
    assert load_job(f"{path}:Other").__name__ == "Other"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "defines no job: derive a class"),
        (HEAD + "class A(Job): pass\n", r"A in .* does not define map"),
        (HEAD + JOB.format("A") + JOB.format("B"), r"2 jobs, name one of them: .*myjob\.py:A, .*myjob\.py:B"),
        ("def f(:\n", r"not Python at .*myjob\.py:1"),
        ("\n\x00\n", "cannot load"),
        ("import sys; sys.exit(3)\n", "raised SystemExit: 3"),
        ("1 / 0\n", "raised ZeroDivisionError"),
        ("import no_such_module_at_all\n", "no_such_module_at_all"),
    ],
)
def test_a_file_that_is_no_job_is_explained(write: Write, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_job(write(text))


def test_what_an_import_raised_is_the_cause(write: Write) -> None:
    with pytest.raises(UsageError) as error:
        load_job(write("1 / 0\n"))
    assert isinstance(error.value.__cause__, ZeroDivisionError)


def test_a_failed_import_leaves_no_module(write: Write) -> None:
    before = set(sys.modules)
    with pytest.raises(UsageError):
        load_job(write("1 / 0\n"))
    assert set(sys.modules) == before


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "no job in ''"),
        ("no/such.py", r"no such file \(looked for /.*no/such\.py\)"),
        ("no/such.py:Name", "no such file"),
        ("no_such_module", "looked for the file .*and for a module"),
        ("no_such.module:Name", "looked for the file"),
        ("not a module", "no job file or module"),
        ("coded_mr.errors", "defines no job"),
        ("coded_mr.job:Nothing", "there is no such class"),
        ("coded_mr.job:Key", "no subclass of Job"),
        (os.fspath(ROOT / "tests") + os.sep, "it is a directory"),
    ],
)
def test_a_job_that_is_not_there_is_explained(spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_job(spec)


def test_a_forgotten_suffix_is_suggested(write: Write) -> None:
    path = write(HEAD + JOB.format("Mine"), "forgotten.py")
    with pytest.raises(UsageError, match=r"no such file.*did you mean .*forgotten\.py\?"):
        load_job(path.removesuffix(".py"))


def test_parameters_are_the_annotations() -> None:
    found = parameters(Sample)
    assert [p.flag for p in found] == [
        "--pattern",
        "--ignore-case",
        "--count",
        "--share",
        "--where",
        "--name",
        "--mode",
        "--level",
    ]
    assert [p.type for p in found] == [str, bool, int, float, Path, str, str, int]
    assert [p.required for p in found] == [True] + [False] * 7
    assert found[0] == Parameter("pattern", "--pattern", str, True, help="what to find, 100% of it")
    assert found[6] == Parameter("mode", "--mode", str, False, "fast", ("fast", "slow"), "how")


def test_a_job_is_built_from_options() -> None:
    words = "in --pattern x --ignore-case --count 3 --where a --level 2"
    job = built(Sample, *words.split())
    assert job == Sample(pattern="x", ignore_case=True, count=3, where=Path("a"), level=2)
    assert built(Sample, "--pattern", "x", "--no-ignore-case") == Sample(pattern="x")
    assert not hasattr(Sample, "pattern")


def test_parameters_are_keywords_in_python() -> None:
    assert Sample(pattern="x").count == 7
    with pytest.raises(TypeError, match="pattern"):
        Sample()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional"):
        Sample("x")  # type: ignore[call-arg]


def test_help_shows_documentation_and_defaults() -> None:
    text = " ".join(parser_for(Sample).format_help().split())
    assert "parameters of Sample:" in text
    assert "--pattern PATTERN what to find, 100% of it (required)" in text
    assert "--mode MODE how (one of fast, slow; default: fast)" in text
    assert text.count("default: False") == 1


@pytest.mark.parametrize("words", ["", "--pattern x --count y", "--pattern x --mode odd"])
def test_wrong_options_are_refused(words: str) -> None:
    with pytest.raises((argparse.ArgumentError, SystemExit)):
        built(Sample, *words.split())


def test_a_parameter_may_share_the_name_of_a_positional() -> None:
    class Shared(Job):
        inputs: int = 1

    assert built(Shared, "file", "--inputs", "2") == Shared(inputs=2)


def test_a_parameter_named_as_an_option_is_refused() -> None:
    class Clash(Job):
        output: str = "x"

    with pytest.raises(UsageError, match="parameter output of Clash"):
        parser_for(Clash)


@pytest.mark.parametrize("kind", [list[str], dict, str | int, Literal[1, "a"], bytes, Any])
def test_a_type_that_no_option_can_give_is_refused(kind: Any) -> None:
    cls = type("Odd", (Job,), {"__annotations__": {"odd": kind}})
    with pytest.raises(UsageError, match="parameter odd of Odd"):
        parameters(cls)


def test_a_type_that_is_not_imported_is_explained() -> None:
    annotations = {"fine": "int", "odd": "NoSuchType"}
    cls = type("Odd", (Job,), {"__annotations__": annotations, "__module__": __name__})
    with pytest.raises(UsageError, match=r"type of the parameter odd of Odd.*NoSuchType"):
        parameters(cls)


def test_a_value_that_the_job_refuses_is_a_usage_error() -> None:
    class Checked(RecordJob):
        n: int

        def __post_init__(self) -> None:
            if self.n < 0:
                raise ValueError("n must not be negative")

    assert built(Checked, "--n", "3").n == 3
    with pytest.raises(UsageError, match=r"Checked does not accept .*n must not be negative") as error:
        built(Checked, "--n=-1")
    assert isinstance(error.value.__cause__, ValueError)


def test_a_job_without_parameters_adds_no_options() -> None:
    class Plain(Job):
        pass

    assert "parameters of" not in parser_for(Plain).format_help()
    assert built(Plain) == Plain()


def test_the_version_is_that_of_the_distribution() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    assert coded_mr.__version__ == setup["metadata"]["version"]


def test_public_names_are_there() -> None:
    assert all(getattr(coded_mr, name) for name in coded_mr.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        coded_mr.nothing  # noqa: B018


def test_loading_a_job_imports_neither_numpy_nor_mpi() -> None:
    code = (
        "import sys\nfrom coded_mr.jobfile import load_job\nload_job(sys.argv[1])\n"
        "print([name for name in ('numpy', 'mpi4py', 'msgspec') if name in sys.modules])"
    )
    command = [sys.executable, "-c", code, str(ROOT / "jobs" / "grep.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
