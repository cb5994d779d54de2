"""The fixture `slurm`: a cluster that lives as long as the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.slurm.cluster import Slurm, missing, running_slurm


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    """Give a running cluster; skip the test, saying what is missing, where there cannot be one."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    with running_slurm(tmp_path_factory.mktemp("slurm")) as running:
        yield running
