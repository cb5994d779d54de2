"""Every command of README and of the documentation, run in the order of its page as a reader would."""

from __future__ import annotations

import ast
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

pytest.importorskip("markdown_it", reason="no markdown-it-py: pip install '.[docs]'")

from coded_mr.errors import UsageError
from coded_mr.launch.settings import laptop_settings
from docs.extensions.parsers import commands, parser_of
from tests.docs.console import Block, Page, matches, script, spoken, statuses
from tests.docs.readme import completed, prepare
from tests.mpi.interpreters import Mpi, usable

TOP = Path(__file__).parents[2]
README = TOP / "README.md"
PAGES = [Page.read(path) for path in (README, *sorted((TOP / "docs").rglob("*.md")))]
SECONDS = 300


def named(page: Page) -> str:
    return str(page.path.relative_to(TOP))


@pytest.fixture
def mpi() -> Mpi:
    """Give the MPI of this Python."""
    found = usable(sys.executable)
    if isinstance(found, str):
        pytest.skip(found)
    return found


def session(mpi: Mpi, page: Page, blocks: Sequence[Block], folder: Path) -> list[tuple[str, int]]:
    """Run the commands of a page in one shell, in a folder that looks like a clone of the repository."""
    for entry in TOP.iterdir():
        if not entry.name.startswith(".") and entry.name != "build":
            (folder / entry.name).symlink_to(entry)
    for name, text in page.files.items():
        (folder / name).write_text(text)
    complete: Callable[[str], str] = str
    if page.path == README:
        prepare(folder)
        complete = completed
    words = [complete(command.text) for block in blocks for command in block.commands]
    cpus = os.cpu_count() or 1
    settings = laptop_settings(
        os.environ, ranks=cpus + 1, cpus=cpus, uid=os.getuid(), allocation=False, flavour=mpi.flavour
    )
    programs = [str(Path(sys.executable).parent), str(Path(mpi.mpirun).parent)]
    environment = {
        **os.environ,
        **settings,
        "PATH": os.pathsep.join([*programs, os.environ["PATH"]]),
        "PYTHONPATH": str(TOP),
        "COLUMNS": "100",
    }
    shell = subprocess.Popen(
        ["bash", "-s"],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        printed, _ = shell.communicate(script(words), timeout=SECONDS)
    except BaseException:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.communicate()
        raise
    return statuses(printed)


@pytest.mark.parametrize("page", [page for page in PAGES if page.here], ids=named)
def test_commands_do_what_is_shown(mpi: Mpi, page: Page, tmp_path: Path) -> None:
    if missing := {name for text in page.files.values() for name in imported(text) if not found(name)}:
        pytest.skip(f"the page's programs need {', '.join(sorted(missing))}: pip install '.[test]'")
    if not shutil.which("coded-mr", path=str(Path(sys.executable).parent)):
        pytest.skip("no command coded-mr beside this Python: pip install -e .")
    blocks = page.runs(survives=mpi.launcher.survives)
    results = iter(session(mpi, page, blocks, tmp_path))
    for block in blocks:
        for command in block.commands:
            printed, status = next(results)
            last = command is block.commands[-1]
            where = f"{named(page)}:{command.line}: {command.text}\n{printed}"
            assert status == (block.status if last else 0), where
            if command.shown is not None:
                assert matches(command.shown, printed, block.varying), where


def imported(text: str) -> set[str]:
    """Return the packages that a program imports, if it is one in Python."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return set()
    nodes = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    names = [node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name for node in nodes]
    return {name.partition(".")[0] for name in names}


def found(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


ELSEWHERE = [(page, block) for page in PAGES for block in page.blocks if block.elsewhere]


@pytest.mark.parametrize(
    ("page", "block"), ELSEWHERE, ids=[f"{named(page)}:{block.commands[0].line}" for page, block in ELSEWHERE]
)
def test_commands_that_run_elsewhere_name_their_test_and_have_options_that_exist(
    page: Page, block: Block, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert block.elsewhere is not None
    path, _, function = block.elsewhere[0].partition("::")
    assert f"def {function}(" in (TOP / path).read_text() if function else (TOP / path).is_file()
    monkeypatch.chdir(TOP)
    for command in block.commands:
        for words in spoken(completed(command.text)):
            understood(words)


def understood(words: list[str]) -> None:
    """Parse the words after `coded-mr` with the parser of their command; raises UsageError."""
    names = next(names for names, _ in commands() if names == tuple(words[: len(names)]))
    rest = words[len(names) :]
    jobs = [word.replace("/opt/coded_mr/", "") for word in rest if word.endswith(".py")][:1]
    parser_of([*names, *jobs]).parse_intermixed_args(rest)


def test_every_page_has_been_found() -> None:
    assert {named(page) for page in PAGES} >= {"README.md", "docs/first-run.md", "docs/cluster.md"}
    assert sum(len(block.commands) for page in PAGES for block in page.here) > 40


def test_an_option_that_does_not_exist_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(TOP)
    understood(["run", "jobs/grep.py", "texts", "--pattern", "x", "-o", "out"])
    with pytest.raises(UsageError):
        understood(["run", "jobs/grep.py", "texts", "--pattern", "x", "-o", "out", "--colour"])
    with pytest.raises(UsageError):
        understood(["run", "jobs/none.py", "texts", "-o", "out"])
