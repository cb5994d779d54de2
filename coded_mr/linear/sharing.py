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

__all__ = ["SharedMatrix", "SharedProduct", "SharedReport"]


@dataclass(frozen=True)
class SharedReport:
    """Hold what was wanted, and the reports of the two parts, the upper rows first.

    theta is rounded so that each part has whole rows, and parts are padded to blocks of rows: `predicted` is
    for the rows that there are.
    """

    mix: MemorySharing
    fast: ProductReport
    slow: ProductReport

    @property
    def load(self) -> Fraction:
        """Return the measured load of both parts, in units of the values of one output."""
        rows = self.fast.rows + self.slow.rows
        return Fraction(self.fast.payload + self.slow.payload, rows * self.fast.element_bytes)

    @property
    def latency(self) -> float:
        """Return the measured latency: the parts are mapped one after the other."""
        return self.fast.latency + self.slow.latency

    @property
    def predicted(self) -> MemorySharing:
        """Return latency and load by the formulas, for the rows that were really shared so."""
        theta = Fraction(self.fast.rows, self.fast.rows + self.slow.rows)
        return MemorySharing(self.fast.point, self.slow.point, theta)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON; the formula's latency is in units of `coded_mr.theory.straggling`."""
        parts = (self.fast, self.slow)
        return {
            "format": "coded-mr-shared-product/1",
            "theta": {"asked": str(self.mix.theta), "stored": str(self.predicted.theta)},
            "latency": {"formula": str(self.predicted.D), "seconds": self.latency},
            "load": {"formula": str(self.predicted.L), "measured": str(self.load)},
            "parts": [part.to_dict() for part in parts],
        }

    def summary(self) -> str:
        """Return a few lines for people."""
        mix, seconds = self.predicted, self.latency
        parts = ((mix.theta, self.fast), (1 - mix.theta, self.slow))
        lines = [
            f"shared    D = {mix.D} units ({float(mix.D):.4g}), measured {seconds:.3f} s; L = {mix.L}"
            f" ({float(mix.L):.4g}), measured {float(self.load):.4g}"
        ]
        for share, report in parts:
            lines += [f"part      {share} of the rows, q = {report.point.q}", report.summary()]
        return "\n".join(lines)


@dataclass(frozen=True)
class SharedProduct:
    """Hold a product A X and how it came about."""

    Y: Array
    report: SharedReport


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
        comm: MPI.Intracomm | None = None,
        **options: Any,
    ) -> None:
        """Store both parts; 0 < theta < 1, and theta m is rounded up. Options are those of `FieldMatrix`.

        `coded_mr.theory.straggling.share_memory` finds fast, slow and theta for a latency that is wanted.
        Raises UsageError on every rank as FieldMatrix does, and for parts without rows.
        """
        world = MPI.COMM_WORLD if comm is None else comm
        setting = Setting(world.size, storage, 1)  # type: ignore[arg-type]
        if not 0 < as_fraction(theta, "theta") < 1:
            raise UsageError(f"theta is {theta}: it must be between 0 and 1, or one part has no rows")
        self._mix = mix = MemorySharing(setting.point(fast), setting.point(slow), theta)
        upper = lower = A
        if np.ndim(A):
            cut, _ = share_rows(mix, len(A))
            upper, lower = A[:cut], A[cut:]
        with ExitStack() as stack:
            parts = [
                stack.enter_context(FieldMatrix(part, storage=storage, finishers=q, comm=comm, **options))
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
        report = SharedReport(self._mix, upper.report, lower.report)
        return SharedProduct(np.concatenate([upper.Y, lower.Y]), report)

    def close(self) -> tuple[int, ...]:
        """Let go of both parts, and return the ranks that did not come: see `FieldMatrix.close`."""
        for part in self._parts:
            part.close()
        return self.absent

    def end(self) -> None:
        """End the program if ranks are absent: see `FieldMatrix.end`."""
        for part in self._parts:
            part.end()
