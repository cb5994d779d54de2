"""What all tests share: known answers, and hypothesis without clocks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("coded_mr", deadline=None, database=None)
settings.load_profile("coded_mr")


@pytest.fixture(scope="session")
def golden() -> Callable[[str], Any]:
    """Return a loader of known answers: golden("allocation") reads tests/data/allocation.json."""
    data = Path(__file__).parent / "data"

    def load(name: str) -> Any:
        return json.loads((data / f"{name}.json").read_text(encoding="utf-8"))

    return load
