"""pytest inside an MPI world: rank 0 speaks, the others only when they fail."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from coded_mr.launch import Announced, announced

WORLD = announced(os.environ) or Announced(1, 0, 1, "none", "none")
FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give each rank a temporary folder of its own: they would race for a common one."""
    scratch = os.environ.get("CODED_MR_CHECK_SCRATCH")
    if scratch:
        config.option.basetemp = Path(scratch) / f"rank{WORLD.rank}"


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Hold back the terminal of all ranks but the first."""
    if WORLD.rank:
        _terminal(session.config)._file = io.StringIO()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Show what a failing rank had to say."""
    held = getattr(_terminal(config), "_file", None)
    if WORLD.rank and isinstance(held, io.StringIO) and config.stash.get(FAILED, False):
        print(f"\nrank {WORLD.rank} of {WORLD.size}\n{held.getvalue()}", file=sys.__stdout__, flush=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Remember whether this rank failed; a rank whose checks were all skipped did not."""
    session.config.stash[FAILED] = exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


def _terminal(config: pytest.Config) -> Any:
    return getattr(config.pluginmanager.get_plugin("terminalreporter"), "_tw", None)
