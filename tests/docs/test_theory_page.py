"""The formulas of the theory page: each function exists, is used in its example, and gives what is shown."""

from __future__ import annotations

import ast
import doctest
import re
from pathlib import Path

import pytest

pytest.importorskip("markdown_it", reason="no markdown-it-py: pip install '.[docs]'")
pytest.importorskip("sphinx", reason="no sphinx: pip install '.[docs]'")
pytest.importorskip("latex2mathml", reason="no latex2mathml: pip install '.[docs]'")

from markdown_it import MarkdownIt
from sphinx.errors import ExtensionError

from docs.extensions.formulas import Formula
from docs.extensions.mathml import mathml

DOCS = Path(__file__).parents[2] / "docs"


def formulas() -> list[Formula]:
    """Read every formula of the page."""
    found = []
    for token in MarkdownIt().parse((DOCS / "theory.md").read_text(encoding="utf-8")):
        if token.type == "fence" and token.info.startswith("{formula} "):
            uses = re.search(r"^:uses: (.*)$", token.content, re.MULTILINE)
            lines = [line for line in token.content.split("\n") if not line.startswith(":")]
            found.append(Formula.read(token.info.split()[1], uses[1] if uses else "", lines))
    return found


def run(name: str, session: str) -> tuple[int, str]:
    """Run a session; return how many of its examples failed, and what was said of them."""
    said: list[str] = []
    test = doctest.DocTestParser().get_doctest(f"{session}\n", {}, name, None, None)
    result = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    return result.failed, "".join(said)


@pytest.mark.parametrize("formula", formulas(), ids=lambda formula: formula.function.rpartition(".")[2])
def test_the_function_gives_what_is_shown(formula: Formula) -> None:
    failed, said = run(formula.function, formula.session)
    assert not failed, said
    source = "".join(example.source for example in doctest.DocTestParser().get_examples(formula.example))
    called = [node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    name = formula.function.rpartition(".")[2]
    assert any(getattr(f, "id", getattr(f, "attr", "")) == name for f in called), f"{name} is not called"


def test_the_page_has_its_formulas() -> None:
    named = {formula.function.removeprefix("coded_mr.theory.").partition(".")[0] for formula in formulas()}
    assert {"load", "allocation", "converse", "tradeoff", "straggling", "load_allocation", "elastic"} <= named


def test_a_wrong_value_is_found() -> None:
    lines = ["L", "", ">>> print(cdc_load(6, 2))", "1/4"]
    wrong = Formula.read("coded_mr.theory.tradeoff.cdc_load", "", lines)
    assert run("wrong", wrong.session)[0] == 1


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.stem)
def test_other_sessions_in_python_give_what_is_shown(page: Path) -> None:
    for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
        if token.type == "fence" and token.info.strip() == "pycon":
            failed, said = run(page.stem, token.content)
            assert not failed, said


@pytest.mark.parametrize("latex", [r"\frac{", r"\nosuchcommand x"])
def test_what_is_no_formula_is_refused(latex: str) -> None:
    with pytest.raises(ExtensionError):
        mathml(latex)


def test_a_formula_is_one_element_of_mathml() -> None:
    drawn = mathml(r"\frac{Q - r}{Q}", display=True)
    assert drawn.startswith("<math ")
    assert 'display="block"' in drawn
    assert "<mfrac>" in drawn
