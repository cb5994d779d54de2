"""Memory sharing, executed: some rows of a matrix are coded for few finishers, the others for more.

The two parts are mapped one after the other, so that storage, latency and load lie between those of the two
points, in the ratio of the rows. Li, Maddah-Ali, Avestimehr 2016 (arXiv 1609.01690), Theorem 1.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from mpi4py import MPI

from coded_mr.errors import UsageError
from coded_mr.linear.exact_product import FieldMatrix
from coded_mr.linear.report import ProductReport
from coded_mr.linear.storage import share_rows
from coded_mr.theory.checks import as_fraction
from coded_mr.theory.straggling import MemorySharing, Setting

if TYPE_CHECKING:
    from coded_mr.linear.codes.field import Array

__all__ = ["SharedMatrix", "SharedProduct"]


@dataclass(frozen=True)
class SharedProduct:
    """Hold a product A X and the reports of its two parts, the upper rows first."""

    Y: Array
    fast: ProductReport
    slow: ProductReport

    @property
    def load(self) -> Fraction:
        """Return the measured load of both parts, in units of the values of one output."""
        rows = self.fast.rows + self.slow.rows
        return Fraction(self.fast.payload + self.slow.payload, rows * self.fast.element_bytes)


class SharedMatrix:
    """Keep a matrix of which theta m rows wait for `fast` finishers, and the others for `slow`.

    Use it as a `FieldMatrix`.
    """

    def __init__(
        self,
        A: Any = None,
        *,
        storage: Fraction | int,
        fast: int,
        slow: int,
        theta: Fraction,
        bits: int | None = None,
        comm: MPI.Intracomm | None = None,
        kernel: str | None = None,
    ) -> None:
        """Store both parts; 0 < theta < 1, and theta m is rounded up.

        `coded_mr.theory.straggling.share_memory` finds fast, slow and theta for a latency that is wanted.
        Raises UsageError on every rank as FieldMatrix does, and for parts without rows.
        """
        world = MPI.COMM_WORLD if comm is None else comm
        setting = Setting(world.size, storage, 1)  # type: ignore[arg-type]
        if not 0 < as_fraction(theta, "theta") < 1:
            raise UsageError(f"theta is {theta}: it must be between 0 and 1, or one part has no rows")
        mix = MemorySharing(setting.point(fast), setting.point(slow), theta)
        upper = lower = A
        if np.ndim(A):
            cut, _ = share_rows(mix, len(A))
            upper, lower = A[:cut], A[cut:]
        with ExitStack() as stack:
            parts = [
                stack.enter_context(
                    FieldMatrix(part, storage=storage, finishers=q, bits=bits, comm=comm, kernel=kernel)
                )
                for part, q in ((upper, fast), (lower, slow))
            ]
            self._parts = tuple(parts)
            self._stack = stack.pop_all()

    def __enter__(self) -> SharedMatrix:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close both parts, unless this rank failed alone."""
        self._stack.__exit__(kind, error, trace)

    @property
    def absent(self) -> tuple[int, ...]:
        """Return the ranks that did not come to the end: see `FieldMatrix.close`."""
        return tuple(sorted({rank for part in self._parts for rank in part.absent}))

    def multiply(self, X: Any = None, *, slow: float = 0.0) -> SharedProduct | None:
        """Return A X on rank 0, None elsewhere: see `FieldMatrix.multiply`."""
        upper, lower = (part.multiply(X, slow=slow) for part in self._parts)
        if upper is None or lower is None or upper.report is None or lower.report is None:
            return None
        return SharedProduct(np.concatenate([upper.Y, lower.Y]), upper.report, lower.report)
