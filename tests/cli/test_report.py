"""`coded-mr report` as users type it."""

from __future__ import annotations

from pathlib import Path

import pytest

from coded_mr.cli import main
from tests.report.runs import written


@pytest.fixture
def run(tmp_path: Path) -> str:
    return str(written(tmp_path / "run.json"))


def test_one_report_becomes_a_page(run, tmp_path, capsys):
    page = tmp_path / "run.html"
    assert main(["report", run, "-o", str(page)]) == 0
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert capsys.readouterr().out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.html", "run.json"]


def test_two_reports_are_compared_on_standard_output_or_on_a_page(run, tmp_path, capsys):
    assert main(["report", run, run]) == 0
    assert "total time" in capsys.readouterr().out
    page = tmp_path / "both.html"
    assert main(["report", run, run, "-o", str(page)]) == 0
    assert "Comparison of 2 runs" in page.read_text(encoding="utf-8")


def test_one_report_without_a_place_for_the_page_is_refused(run, capsys):
    assert main(["report", run]) == 2
    assert "Give -o FILE.html" in capsys.readouterr().err


def test_an_old_page_is_replaced_only_on_request(run, tmp_path, capsys):
    page = tmp_path / "run.html"
    page.write_text("old")
    assert main(["report", run, "-o", str(page)]) == 2
    assert "add --overwrite" in capsys.readouterr().err
    assert page.read_text() == "old"
    assert main(["report", run, "-o", str(page), "--overwrite"]) == 0
    assert page.read_text(encoding="utf-8") != "old"


def test_a_report_is_never_replaced_by_its_page(run, capsys):
    before = Path(run).read_bytes()
    assert main(["report", run, "-o", run, "--overwrite"]) == 2
    assert "is a run report to read" in capsys.readouterr().err
    assert Path(run).read_bytes() == before


@pytest.mark.parametrize(("place", "words"), [("no/run.html", "does not exist"), (".", "is a directory")])
def test_a_page_without_a_place_is_refused(run, tmp_path, capsys, place, words):
    assert main(["report", run, "-o", str(tmp_path / place)]) == 2
    assert words in capsys.readouterr().err


def test_a_missing_report_and_another_file_are_named(run, tmp_path, capsys):
    assert main(["report", run, str(tmp_path / "none.json")]) == 2
    assert "none.json: No such file" in capsys.readouterr().err
    (tmp_path / "notes.txt").write_text("hello")
    assert main(["report", str(tmp_path / "notes.txt"), "-o", str(tmp_path / "x.html")]) == 2
    assert "notes.txt is not a run report" in capsys.readouterr().err
    assert not (tmp_path / "x.html").exists()
