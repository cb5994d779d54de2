"""Launchers made of a few lines of shell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

MakeLauncher = Callable[..., Path]


@pytest.fixture
def make_launcher(tmp_path: Path) -> MakeLauncher:
    """Return a maker of launchers: `body` is what one does, `says` what it answers to --version."""

    def make(body: str, *, says: str = "Nobody's MPI 1.2.3", path: Path | None = None) -> Path:
        path = path or tmp_path / "mpirun"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!/bin/sh\nif [ "$1" = --version ]; then echo "{says}"; exit; fi\n{body}\n')
        path.chmod(0o755)
        return path

    return make
