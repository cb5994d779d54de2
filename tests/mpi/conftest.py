"""The fixture `mpi`: every test that asks for it runs once for each MPI."""

from __future__ import annotations

import sys

import pytest

from tests.mpi.interpreters import Mpi, candidates, usable


@pytest.fixture(
    scope="session",
    params=[pytest.param(python, id=name) for name, python in candidates()],
)
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Give one MPI: `.python`, `.mpirun`, `.flavour` and `.run(n, args, timeout=, env=, cwd=)`.

    Without an MPI for this Python the test is skipped; without one for a Python that
    CODED_MR_TEST_PYTHONS asks for, it fails.
    """
    found = usable(request.param)
    if isinstance(found, Mpi):
        return found
    if request.param == sys.executable:
        pytest.skip(found)
    pytest.fail(f"CODED_MR_TEST_PYTHONS: {found}", pytrace=False)
