"""`linear matvec` and `linear elastic`: what is refused before MPI starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from coded_mr.cli import linear_elastic, linear_matvec
from coded_mr.cli.linear_world import load_array, save_array
from coded_mr.errors import InputError, OutputError, UsageError

Main = Callable[[list[str]], int]
BOTH = pytest.mark.parametrize("main", [linear_matvec.main, linear_elastic.main], ids=["matvec", "elastic"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    np.save(tmp_path / "A.npy", np.ones((4, 3)))
    np.save(tmp_path / "x.npy", np.ones(3))
    (tmp_path / "text").write_text("1 2 3\nnobody\n")
    np.savez(tmp_path / "several.npz", a=np.ones(3))
    np.save(tmp_path / "C.npy", np.ones((4, 3), dtype=complex))
    np.save(tmp_path / "empty.npy", np.ones((0, 3)))
    (tmp_path / "half.npy").write_bytes((tmp_path / "A.npy").read_bytes()[:100])
    monkeypatch.chdir(tmp_path)
    return tmp_path


@BOTH
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.npy", "x.npy", "-o", "y.npy"], r"cannot read none\.npy"),
        (["A.npy", "text", "-o", "y.npy"], "cannot read text as an array: it begins with b'1 2 3"),
        (["half.npy", "x.npy", "-o", "y.npy"], r"cannot read half\.npy as an array"),
        (["C.npy", "x.npy", "-o", "y.npy"], r"C\.npy has the type complex128"),
        (["x.npy", "x.npy", "-o", "y.npy"], r"x\.npy has the shape \(3,\): a matrix"),
        (["empty.npy", "x.npy", "-o", "y.npy"], r"empty\.npy has the shape \(0, 3\)"),
        (["A.npy", "A.npy", "-o", "y.npy"], r"A\.npy has the shape \(4, 3\): \(3,\) or \(3, m\)"),
        (["A.npy", "x.npy", "-o", "y.npy", "--limit", "0"], "--limit: must be above 0"),
        (["A.npy", "several.npz", "-o", "y.npy"], r"several\.npz holds several arrays"),
        (["A.npy", "x.npy", "-o", "."], "cannot be written"),
        (["A.npy", "x.npy", "-o", "none/y.npy"], "cannot be written"),
        (["A.npy", "x.npy", "-o", "y.npy", "-n", "1"], "2 ranks or more"),
        (["A.npy", "x.npy", "-o", "y.npy", "--json", "none/j"], "does not exist"),
        (["A.npy", "x.npy"], "required: -o"),
    ],
)
def test_both_refuse(folder: Path, main: Main, words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        main(words)
    assert not (folder / "y.npy").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--rule", "fast"], "the rule is 'fast'"),
        (["--rule", "optimal"], "needs the groups"),
        (["--delay", "1"], "give them too"),
        (["--delay", "0", "--groups", "2:1:1"], "scale must be above 0"),
        (["--groups", "2:1"], "write N:MU:ALPHA"),
        (["--groups", "2:1:x"], "write N:MU:ALPHA"),
        (["--groups", "2:-1:0"], "straggling rate"),
    ],
)
def test_matvec_refuses(folder: Path, words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        linear_matvec.main(["A.npy", "x.npy", "-o", "y.npy", *words])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-L", "0"], "blocks L"),
        (["--margin", "-1"], "margin S"),
        (["--policy", "uncoded", "--margin", "1"], "without a code"),
        (["--trace", "text"], "line 2"),
        (["--trace", "none"], "cannot read the trace"),
        (["--away", "1"], "chance"),
        (["--away", "0.5", "--trace", "text"], "not allowed with"),
    ],
)
def test_elastic_refuses(folder: Path, words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        linear_elastic.main(["A.npy", "x.npy", "-o", "y.npy", *words])


def test_arrays_are_written_whole_and_read_again(folder: Path) -> None:
    save_array("y.npy", np.arange(6.0).reshape(2, 3))
    assert load_array("y.npy").tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(OutputError, match=r"none/y\.npy"):
        save_array("none/y.npy", np.ones(1))
    assert not list(folder.glob(".*"))


def test_objects_are_not_unpickled(folder: Path) -> None:
    np.save("objects.npy", np.array([{}], dtype=object))
    with pytest.raises(InputError, match=r"objects\.npy"):
        load_array("objects.npy")
