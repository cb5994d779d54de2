"""`coded-mr calibrate` before MPI starts."""

from __future__ import annotations

from pathlib import Path

from coded_mr.cli import main

WORDCOUNT = str(Path(__file__).parents[2] / "jobs" / "wordcount.py")


def test_a_scratch_directory_that_is_not_there_is_refused(capsys, tmp_path, monkeypatch):
    def never(*_: object, **__: object) -> int:
        raise AssertionError("MPI was started")

    monkeypatch.setattr("coded_mr.cli.world.launch", never)
    (tmp_path / "in").write_text("a b")
    missing = str(tmp_path / "missing")
    assert main(["calibrate", WORDCOUNT, str(tmp_path / "in"), "--scratch", missing]) == 2
    assert f"--scratch {missing} is not a directory" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
