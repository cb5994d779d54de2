"""Random matrices over the fields, and the kernels that this machine has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from coded_mr.linear.codes import field

Matrix = npt.NDArray[np.unsignedinteger[Any]]


@pytest.fixture(scope="session")
def elements() -> Callable[..., Matrix]:
    """Return a maker of random arrays of field elements: elements(bits, shape, seed)."""

    def make(bits: int, shape: tuple[int, ...], seed: int = 0) -> Matrix:
        over = field(bits)
        return np.random.default_rng(seed).integers(0, over.order, shape).astype(over.dtype)

    return make
