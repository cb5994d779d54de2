"""What all tests share: known answers, hypothesis without clocks, and who runs beside whom."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("coded_mr", deadline=None, database=None)
settings.load_profile("coded_mr")

# Their tests start no launcher, take no ports and make no namespaces.
LOGIC = frozenset(
    [
        "engine",
        "io",
        "jobs",
        "kernels",
        "linear",
        "plan",
        "report",
        "simulate",
        "terasort",
        "theory",
        "topology",
    ]
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep together, under pytest-xdist, each folder of pure logic, and all tests that need the machine."""
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            folder = item.path.relative_to(Path(__file__).parent).parts[0]
            item.add_marker(pytest.mark.xdist_group(folder if folder in LOGIC else "machine"))


@pytest.fixture(scope="session")
def golden() -> Callable[[str], Any]:
    """Return a loader of known answers: golden("allocation") reads tests/data/allocation.json."""
    data = Path(__file__).parent / "data"

    def load(name: str) -> Any:
        return json.loads((data / f"{name}.json").read_text(encoding="utf-8"))

    return load
