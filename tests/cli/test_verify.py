"""`coded-mr verify`: plans written by `plan --save`, whole and spoilt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coded_mr.cli import main


def save(tmp_path: Path, *words: str) -> Path:
    path = tmp_path / "plan.json"
    assert main(["plan", "--costs", "1,2,1", *words, "--save", str(path), "--json", str(tmp_path / "x")]) == 0
    return path


@pytest.mark.parametrize(
    ("words", "load", "ratio"),
    [
        (["-p", "3"], "1/9", "1"),
        (["-p", "4", "-n", "4", "--scheme", "symmetric", "-r", "2"], "1/4", "1"),
        (["-p", "4", "-n", "4", "--scheme", "replicated", "-r", "2"], "1/2", "2"),
        (["-p", "6", "-n", "6", "--scheme", "resolvable", "-r", "3"], "1/4", "3/2"),
        (["-p", "3", "-r", "3"], "0", None),
    ],
)
def test_load_bound_and_ratio(capsys, tmp_path, words, load, ratio):
    path = save(tmp_path, *words)
    capsys.readouterr()
    assert main(["verify", str(path), "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["load"], found["ratio"]) == (load, ratio)
    assert main(["verify", str(path)]) == 0
    text = capsys.readouterr().out
    assert f"load      {load} " in text
    assert "every solver gets everything" in text


def test_a_plan_that_does_not_work_is_refused(capsys, tmp_path):
    path = save(tmp_path, "-p", "3")
    document = json.loads(path.read_text())
    document["packets"].pop()
    path.write_text(json.dumps(document))
    assert main(["verify", str(path)]) == 1
    assert "neither maps batch" in capsys.readouterr().err


@pytest.mark.parametrize("content", [None, "{}", "\x00"])
def test_what_is_no_plan_is_refused(capsys, tmp_path, content):
    path = tmp_path / "plan.json"
    if content is not None:
        path.write_text(content)
    assert main(["verify", str(path)]) in (1, 2)
    assert "plan" in capsys.readouterr().err
