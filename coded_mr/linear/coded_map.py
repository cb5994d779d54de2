"""One server's map: the products of its coded rows with all vectors, in the worker thread."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from mpi4py import MPI

from coded_mr.engine.worker import Worker
from coded_mr.linear.codes.product import multiply

if TYPE_CHECKING:
    from coded_mr.linear.codes.field import Array, Field

__all__ = ["CodedMap", "Mapped"]

# A map that is called off ends after the vectors that are under way. Fewer values at once, or more pieces,
# would cost the kernels speed.
_LEAST_VALUES = 16 << 10
_MOST_PIECES = 32


@dataclass(frozen=True)
class Mapped:
    """Hold the products (rows, height, vectors) of a server's coded rows, and the nanoseconds they took."""

    products: Array
    nanoseconds: int


class CodedMap:
    """Multiply the coded rows of one server, each of them `height` rows high, by the vectors of a job."""

    def __init__(self, comm: MPI.Intracomm, over: Field, rows: Array, *, kernel: str | None = None) -> None:
        """Keep the rows (rows, height, columns); `comm` makes progress while the worker computes."""
        self._worker = Worker(comm)
        self._over = over
        self._rows = rows
        self._kernel = kernel
        self._off = threading.Event()
        self._running: Future[Mapped | None] | None = None

    def start(self, vectors: Array, slow: float = 0.0) -> None:
        """Begin to map the vectors (columns, vectors), `slow` seconds late."""
        self._off = off = threading.Event()
        self._running = self._worker.start(lambda: self._map(vectors, slow, off))

    def result(self) -> Mapped | None:
        """Return the products, None while they are being computed; raises what the map raised."""
        if self._running is None or not self._running.done():
            return None
        return self._running.result()

    def call_off(self) -> None:
        """Stop the map that is under way, and forget its result."""
        self._off.set()
        self._running = None

    def _map(self, vectors: Array, slow: float, off: threading.Event) -> Mapped | None:
        started = time.perf_counter_ns()
        off.wait(slow)
        count, height, width = self._rows.shape
        flat = self._rows.reshape(count * height, width)
        total = vectors.shape[1]
        products = np.empty((len(flat), total), dtype=self._over.dtype)
        step = max(-(-total // _MOST_PIECES), -(-_LEAST_VALUES // len(flat)))
        for start in range(0, total, step):
            if off.is_set():
                return None
            piece = slice(start, start + step)
            products[:, piece] = multiply(self._over, flat, vectors[:, piece], kernel=self._kernel)
        shaped = products.reshape(count, height, total)
        return Mapped(shaped, time.perf_counter_ns() - started)
