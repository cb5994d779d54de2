"""What is generated from the code: docstrings as markup, commands from their parsers."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

pytest.importorskip("sphinx", reason="no sphinx: pip install '.[docs]'")

from hypothesis import given
from hypothesis import strategies as st

from coded_mr.cli import Parser
from docs.extensions.commands import reference
from docs.extensions.docstrings import restructured
from docs.extensions.modules import offers
from docs.extensions.parsers import commands, parser_of


def test_columns_become_definitions() -> None:
    text = ["Hold two.", "", "r_star   optimal load: how many", "         solvers map a file.", "k   servers"]
    assert restructured(text) == [
        "Hold two.",
        "",
        "``r_star``",
        "    optimal load: how many",
        "    solvers map a file.",
        "``k``",
        "    servers",
        "",
    ]


def test_parameters_of_jobs_become_definitions() -> None:
    assert restructured(["Map.", "", "mapper: what maps", "add_tabs: give lines one"]) == [
        "Map.",
        "",
        "``mapper``",
        "    what maps",
        "``add_tabs``",
        "    give lines one",
        "",
    ]


def test_code_stays_and_markup_is_taken_literally() -> None:
    assert restructured(["Return `r*` of r* and |S|, see a_ or `x`."]) == [
        r"Return ``r*`` of r\* and \|S\|, see a\_ or ``x``.",
        "",
    ]


def test_drawings_stay_as_they_are() -> None:
    shown = restructured(["One tree.", "", "    a", "    ├── b_"])
    assert shown[shown.index("::") :] == ["::", "", "        a", "        ├── b_", "", ""]


def test_papers_are_linked() -> None:
    (line, _) = restructured(["Source: arXiv 1702.07297, Theorem 1."])
    assert line == "Source: `arXiv 1702.07297 <https://arxiv.org/abs/1702.07297>`__, Theorem 1."


def shown(lines: list[str]) -> str:
    """Return a docstring as it is read on the page; fail when its markup is complained of."""
    from docutils.core import publish_doctree

    text = "\n".join(restructured(lines))
    return publish_doctree(
        text, settings_overrides={"report_level": 2, "halt_level": 2, "warning_stream": False}
    ).astext()


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("ends in ::", "ends in ::"),
        ("x`a b `c", "x`a b `c"),
        ("x`a`b", "xab"),
        ("('`'`'), \\`a`", "('''), \\a"),
        ("earXiv 1702.07297v2", "earXiv 1702.07297v2"),
    ],
)
def test_markup_within_words_is_no_mistake(line: str, text: str) -> None:
    assert shown(["Begin.", line]) == f"Begin.\n{text}"


@given(st.lists(st.text(st.characters(codec="ascii", exclude_categories=("Cc",)), max_size=30), max_size=6))
def test_nothing_in_a_docstring_is_lost_but_backticks(lines: list[str]) -> None:
    whole = ["Begin.", *(f"x{line}" for line in lines)]
    kept = str.maketrans("", "", "` \n")
    assert shown(whole).translate(kept) == "".join(whole).translate(kept)


def test_every_command_has_its_options_and_help() -> None:
    found = dict(commands())
    assert {("run",), ("plan",), ("linear", "matmul"), ("doctor",)} <= set(found)
    for names, parser in found.items():
        text = reference(parser, 2)
        assert text.startswith(f"## coded-mr {' '.join(names)}\n")
        for action in parser._actions:
            if action.option_strings and action.help != argparse.SUPPRESS and action.dest != "help":
                assert f"```{{option}} {action.option_strings[0]}" in text


def test_text_of_help_is_no_markup() -> None:
    parser = Parser(prog="coded-mr try", description="Try *.gz and `a_b`.")
    parser.add_argument("-x", metavar="N", default=3, help="<one> of %(default)s, 100%%")
    text = reference(parser, 2)
    assert r"Try \*.gz and `a_b`." in text
    assert r"\<one\> of 3, 100%" in text


def test_the_parameters_of_a_job_are_among_its_options() -> None:
    parser = parser_of(["run", str(Path(__file__).parents[2] / "jobs" / "grep.py")])
    assert any("--pattern" in action.option_strings for action in parser._actions)


def test_modules_offer_what_they_define_themselves() -> None:
    found = dict(offers("coded_mr.theory"))
    assert "communication_load" in found["coded_mr.theory.load"]
    assert "communication_load" not in found["coded_mr.theory.allocation"]
    assert found["coded_mr.theory"] == []
