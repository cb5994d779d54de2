"""`coded-mr compare`: what can be asked, and mistakes that end before MPI starts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from coded_mr.cli import Parser, main
from coded_mr.cli.compare import Compare
from coded_mr.cli.options import add_planning
from coded_mr.engine.comparison import Wish
from coded_mr.errors import UsageError

WORDCOUNT = str(Path(__file__).parents[2] / "jobs" / "wordcount.py")


def parsed(*words: str):
    parser = Parser(allow_abbrev=False)
    add_planning(parser)
    Compare().add_options(parser)
    return parser.parse_args(words)


def test_schemes_and_loads_are_lists():
    options = parsed("--schemes", "uncoded, cascaded:2,symmetric,uncoded", "--r", "2,0, 1,2")
    assert options.schemes == (Wish("uncoded"), Wish("cascaded", 2), Wish("symmetric"))
    assert options.loads == (0, 1, 2)
    assert parsed("--r", "all").loads is None
    assert (parsed().rounds, parsed("--rounds", "7").rounds) == (3, 7)


def test_the_load_of_run_stays_apart_from_the_loads():
    options = parsed("-r", "2", "--r", "1")
    assert (options.load, options.loads) == (2, (1,))


@pytest.mark.parametrize(
    ("words", "about"),
    [
        ("--schemes best", "no scheme is called 'best'"),
        ("--schemes uncoded,", "no scheme is called ''"),
        ("--schemes symmetric:2", "only cascaded"),
        ("--schemes cascaded:0", "at least 1"),
        ("--schemes cascaded:", "at least 1"),
        ("--r 1,x", "whole numbers"),
        ("--r -1", "--r"),
        ("--r 1/2", "whole numbers"),
        ("--r ''", "whole numbers"),
        ("--rounds 0", "at least 1"),
    ],
)
def test_malformed_lists_are_explained(words, about):
    with pytest.raises(UsageError, match=about):
        parsed(*(word.strip("'") for word in words.split()))


@pytest.mark.parametrize(
    ("words", "about"),
    [
        ("-r 2", "--r 0,1,2"),
        ("--scheme uncoded", "--schemes"),
        ("-s 2", "cascaded:S"),
        ("--schemes symmetric,uncoded --helpers 1", "symmetric has no helpers"),
        ("--scratch no-such-directory", "--scratch no-such-directory"),
        ("--plot times.pdf", ".png or .svg"),
        ("--costs 1,2,1 --profile p.json", "give one of them"),
        ("--link-rate 0", "above 0"),
        ("--json no/such.json", "does not exist"),
        ("--rounds x", "at least 1"),
    ],
)
def test_mistakes_end_before_mpi_starts(capsys, tmp_path, monkeypatch, words, about):
    def never(*_: object, **__: object) -> int:
        raise AssertionError("MPI was started")

    monkeypatch.setattr("coded_mr.cli.world.launch", never)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").write_text("a b")
    assert main(["compare", WORDCOUNT, "in", *words.split()]) == 2
    assert about in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_a_world_that_never_finished_is_noticed(tmp_path, monkeypatch):
    noticed = []

    def launch(ranks, words, *, job_id, finished) -> int:
        noticed.append((ranks, words[0], finished()))
        return 0

    monkeypatch.setattr("coded_mr.cli.world.launch", launch)
    (tmp_path / "in").write_text("a b")
    assert main(["compare", WORDCOUNT, str(tmp_path / "in"), "-n", "3", "--scratch", str(tmp_path)]) == 0
    assert noticed == [(3, "compare", False)]
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_help_starts_without_mpi_numpy_and_matplotlib():
    code = (
        "import sys, coded_mr.cli.compare;"
        " sys.exit(bool({'mpi4py', 'numpy', 'matplotlib'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
