"""Emulated clusters for the tests, where kernel and rights allow them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.cluster import Cluster, Layout, create, destroy, lacking
from tests.mpi.conftest import mpi

__all__ = ["emulated", "mpi"]


@pytest.fixture
def emulated(tmp_path: Path) -> Iterator[Callable[..., Cluster]]:
    """Return what makes the test's cluster of a layout; it is taken down in the end.

    Skips the test, with the reason, where no cluster can be emulated.
    """
    reason = lacking(bus=True)
    if reason is not None:
        pytest.skip(reason)
    state = tmp_path / "cluster"

    def make(layout: Layout, rate: str | None = "100mbit", slots: int = 1) -> Cluster:
        return create(state, layout, rate, slots=slots)

    yield make
    destroy(state)
