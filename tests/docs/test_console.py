"""How commands are found on a page, and when what they print is what the page shows."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

pytest.importorskip("markdown_it", reason="no markdown-it-py: pip install '.[docs]'")

from tests.docs.console import Page, matches, script, spoken, statuses

PAGE = """
# A page

<!-- numbers vary: seconds -->
```console
$ first \\
> --more
shown 1
seconds 2.5
$ second
```

    a picture, no command

<!-- status 2 -->

    coded-mr fail

<!-- elsewhere: tests/x.py::test_y needs a
     network -->
```console
$ third
```

```{code-block} python
:caption: job.py

print("hello")
```
"""


@pytest.fixture
def page(tmp_path: Path) -> Page:
    (tmp_path / "page.md").write_text(PAGE)
    return Page.read(tmp_path / "page.md")


def test_commands_are_found_with_what_they_print(page: Page) -> None:
    texts = [[(command.text, command.shown) for command in block.commands] for block in page.blocks]
    assert texts == [
        [("first --more", "shown 1\nseconds 2.5"), ("second", None)],
        [("coded-mr fail", None)],
        [("third", None)],
    ]
    lines = PAGE.split("\n")
    for block in page.blocks:
        for command in block.commands:
            assert command.text.split()[-1] in lines[command.line - 1]


def test_comments_are_read(page: Page) -> None:
    first, failing, away = page.blocks
    assert (first.varying, first.status, first.elsewhere) == (("seconds",), 0, None)
    assert (failing.varying, failing.status) == (None, 2)
    assert away.elsewhere == ("tests/x.py::test_y", "a network")
    assert page.here == (first, failing)


def test_deaths_are_left_to_an_mpi_that_survives_them(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(
        "    bash first\n\n<!-- where a rank may die -->\n```console\n$ kill -KILL 1\n```\n"
    )
    page = Page.read(tmp_path / "page.md")
    assert page.runs(survives=True) == page.blocks
    assert page.runs(survives=False) == page.blocks[:1]
    assert [block.kills for block in page.blocks] == [False, True]


def test_files_are_read(page: Page) -> None:
    assert page.files == {"job.py": 'print("hello")\n'}


@pytest.mark.parametrize(
    ("shown", "printed", "varying", "same"),
    [
        ("a  1", "a 1\n", None, True),
        ("a 1", "a 2", None, False),
        ("a 1", "a 2", ("",), True),
        ("a 1.5 s", "a 1,024e-07 s", ("",), True),
        ("a 1 s", "a 1 ms", ("",), False),
        ("a 1\nb 1", "a 2\nb 1", ("a",), True),
        ("a 1\nb 1", "a 1\nb 2", ("a",), False),
        ("a\n...\nb", "a\nx\ny\nb", None, True),
        ("a\n...", "b\na", None, False),
        ("in .../words", "in /tmp/x/words", None, True),
        ("a", "coded-mr: map  5%, 0:03 left\na\n", None, True),
        ("a", "a\nb", None, False),
    ],
)
def test_what_is_shown_is_compared(
    shown: str, printed: str, varying: tuple[str, ...] | None, same: bool
) -> None:
    assert matches(shown, printed, varying) is same


def test_a_session_keeps_its_variables_and_statuses() -> None:
    commands = ["X=one", 'echo "$X"  # a comment', "echo wrong >&2; false", "cat"]
    done = subprocess.run(
        ["bash", "-s"], input=script(commands), capture_output=True, text=True, timeout=30, check=True
    )
    assert statuses(done.stdout) == [("", 0), ("one\n", 0), ("wrong\n", 1), ("", 0)]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("coded-mr plan -p 3 > out.txt && cat out.txt", [["plan", "-p", "3"]]),
        ("mpirun -n 3 .venv/bin/coded-mr run 'a b' # why", [["run", "a b"]]),
        ("python3 -m coded_mr doctor; coded-mr verify x", [["doctor"], ["verify", "x"]]),
        ("docker build -t coded-mr .", []),
    ],
)
def test_the_words_of_each_call_are_found(command: str, words: list[list[str]]) -> None:
    assert list(spoken(command)) == words
