"""The two parts in a product that does not wait for all: rank 0 leads, every rank is a server."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from mpi4py import MPI

from coded_mr.engine.traffic import Traffic
from coded_mr.engine.waiting import Backoff, wait
from coded_mr.errors import ConservationError, UsageError
from coded_mr.linear.coded_map import CodedMap, Mapped
from coded_mr.linear.election import Election
from coded_mr.linear.encoding import Stored
from coded_mr.linear.letters import Kind, Letter, Letters, receive_array, send_array
from coded_mr.linear.reduction import reduce_outputs
from coded_mr.linear.report import ProductReport
from coded_mr.linear.shuffle import CodedShuffle, shuffle
from coded_mr.linear.storage import store
from coded_mr.theory.straggling import Setting

if TYPE_CHECKING:
    from coded_mr.linear.codes.field import Array

__all__ = ["FieldProduct", "Leader", "Server", "Site"]

_NANO = 1e-9


@dataclass(frozen=True)
class FieldProduct:
    """Hold a product, or one server's share of it.

    Y        the columns `outputs` of A X, as many rows as A; one-dimensional if X was
    outputs  which columns these are, ascending
    report   what happened; on rank 0 only
    """

    Y: Array
    outputs: tuple[int, ...]
    report: ProductReport | None = None


class Site:
    """Hold what a rank needs for every job, whatever its part.

    letters  small messages; data  the communicator of everything else; stored  its part of the matrix
    """

    def __init__(
        self, letters: Letters, data: MPI.Intracomm, stored: Stored, mu: Fraction, q: int, kernel: str | None
    ) -> None:
        """Start the worker thread."""
        self.letters, self.data, self.stored = letters, data, stored
        self.mu, self.q = mu, q
        self.map = CodedMap(data, stored.code.field, stored.rows, kernel=kernel)
        self.plan = lru_cache(maxsize=8)(self._plan)

    def _plan(self, finishers: tuple[int, ...], N: int) -> CodedShuffle:
        return shuffle(store(Setting(self.data.size, self.mu, N).point(self.q)), finishers)

    def reduce(self, coded: CodedShuffle, mapped: Mapped) -> tuple[Array, tuple[int, ...], tuple[int, ...]]:
        """Return a finisher's outputs, which they are, and the numbers of its letter RESULT."""
        started = time.perf_counter_ns()
        own, traffic = reduce_outputs(self.data, coded, self.stored.code, mapped.products)
        outputs = coded.outputs[coded.finishers.index(self.data.rank)]
        took = time.perf_counter_ns() - started
        return own[: self.stored.shape[0]], outputs, (*_counts(traffic), took)


class Server:
    """Be one of the ranks that rank 0 leads."""

    def __init__(self, site: Site) -> None:
        """Work at a site."""
        self._site = site

    def multiply(self, job: int, slow: float) -> FieldProduct | None:
        """Take part in one job; return own outputs if they are not collected."""
        site = self._site
        site.letters.send(0, Kind.READY, job)
        answer = self._next()
        if answer.kind is Kind.REFUSED:
            raise UsageError(bytes(answer.numbers).decode())
        if answer.kind is Kind.OVER:
            return None
        N, collect = answer.numbers
        vectors = np.empty((site.stored.shape[1], N), dtype=site.stored.code.field.dtype)
        receive_array(site.data, 0, vectors)
        site.map.start(vectors, slow)
        finishers, mapped = self._map(job)
        if mapped is None or site.data.rank not in finishers:
            site.map.call_off()
            return None
        own, outputs, numbers = site.reduce(site.plan(finishers, N), mapped)
        site.letters.send(0, Kind.RESULT, job, numbers)
        if not collect:
            return FieldProduct(own, outputs)
        wait(send_array(site.data, 0, own))
        return None

    def leave(self, job: int) -> tuple[int, ...]:
        """Say that this rank has nothing more to do; return who never said so."""
        self._site.letters.send(0, Kind.LEAVE, job)
        return self._next().numbers

    def _map(self, job: int) -> tuple[tuple[int, ...], Mapped | None]:
        """Map until rank 0 names the finishers; tell it when everything is mapped."""
        mapped: Mapped | None = None

        def tell() -> None:
            nonlocal mapped
            if mapped is None and (mapped := self._site.map.result()) is not None:
                self._site.letters.send(0, Kind.DONE, job, (mapped.nanoseconds,))

        return self._next(tell).numbers, mapped

    def _next(self, meanwhile: Callable[[], None] = lambda: None) -> Letter:
        """Wait for rank 0's next letter."""
        backoff = Backoff()
        while (letter := self._site.letters.take(0)) is None:
            meanwhile()
            backoff.pause()
        return letter


class Leader:
    """Be rank 0, which hands out the vectors, counts who has finished, and collects the outputs."""

    def __init__(self, site: Site) -> None:
        """Work at a site."""
        self._site = site
        self._election = Election(site.letters, site.data, site.q)

    def multiply(self, job: int, X: Any, collect: bool, slow: float) -> FieldProduct:
        """Carry out one job."""
        site, started = self._site, time.perf_counter()
        try:
            vectors = self._vectors(X)
        except UsageError as error:
            self._election.refuse(job, str(error))
            raise
        self._election.open(job, vectors, collect)
        site.map.start(vectors, slow)
        mapped = self._elect()
        coded = site.plan(self._election.announce(), vectors.shape[1])
        seconds = {"map": time.perf_counter() - started}
        own = np.empty((site.stored.shape[0], 0), dtype=vectors.dtype)
        outputs: tuple[int, ...] = ()
        counts: dict[int, tuple[int, ...]] = {}
        if mapped is not None and 0 in coded.finishers:
            own, outputs, counts[0] = site.reduce(coded, mapped)
        else:
            site.map.call_off()
        parts = self._collect(coded, counts, collect)
        if collect:
            own, outputs = _merged({**parts, outputs: own}, vectors.shape[1]), tuple(range(vectors.shape[1]))
        seconds["shuffle and decode"] = max(numbers[-1] for numbers in counts.values()) * _NANO
        seconds["total"] = time.perf_counter() - started
        report = self._report(coded, counts, seconds)
        return FieldProduct(own[:, 0] if np.ndim(X) == 1 and outputs else own, outputs, report)

    def dismiss(self, job: int, patience: float) -> tuple[int, ...]:
        """Wait for all to leave; tell those who came, and return who did not within `patience` seconds."""
        election, until = self._election, time.monotonic() + patience
        others = set(range(1, self._site.data.size))
        self._poll_until(lambda: others == election.leaving or time.monotonic() > until)
        absent = tuple(sorted(others - election.leaving))
        for server in election.leaving:
            self._site.letters.send(server, Kind.ABSENT, job, absent)
        return absent

    def _vectors(self, X: Any) -> Array:
        """Return X as an array of columns."""
        if X is None:
            raise UsageError("X is missing: rank 0 has to give it")
        stored = self._site.stored
        array = stored.code.field.array(X, "X")
        width = stored.shape[1]
        if array.ndim not in (1, 2) or array.shape[0] != width or array.size == 0:
            raise UsageError(
                f"X has the shape {array.shape}: A has the shape {stored.shape}, so ({width},)"
                f" or ({width}, N) is needed"
            )
        return np.ascontiguousarray(array.reshape(width, -1))

    def _elect(self) -> Mapped | None:
        """Wait until q servers have finished; return rank 0's own products if it has them by then."""
        mapped: Mapped | None = None

        def decided() -> bool:
            nonlocal mapped
            if mapped is None and (mapped := self._site.map.result()) is not None:
                self._election.finish(0, mapped.nanoseconds)
            return self._election.decided

        self._poll_until(decided)
        return mapped

    def _collect(
        self, coded: CodedShuffle, counts: dict[int, tuple[int, ...]], collect: bool
    ) -> dict[tuple[int, ...], Array]:
        """Wait for the finishers' letters; return their outputs, if they are to be collected."""
        parts: dict[tuple[int, ...], Array] = {}
        for server, outputs in zip(coded.finishers, coded.outputs, strict=True):
            if server == 0:
                continue
            self._poll_until(lambda server=server: server in self._election.results)  # type: ignore[misc]
            counts[server] = self._election.results[server].numbers
            if collect:
                shape = (self._site.stored.shape[0], len(outputs))
                parts[outputs] = np.empty(shape, dtype=self._site.stored.code.field.dtype)
                receive_array(self._site.data, server, parts[outputs])
        return parts

    def _poll_until(self, reached: Callable[[], bool]) -> None:
        """Answer letters until a condition holds."""
        backoff = Backoff()
        while not reached():
            if self._election.poll():
                backoff.reset()
            else:
                backoff.pause()

    def _report(
        self, coded: CodedShuffle, counts: dict[int, tuple[int, ...]], seconds: dict[str, float]
    ) -> ProductReport:
        stored = self._site.stored
        packets, payload, header, due, received, _ = map(sum, zip(*counts.values(), strict=True))
        if due != received or packets != len(coded.plan.packets):
            raise ConservationError(
                f"the finishers {coded.finishers} sent {packets} packets of {len(coded.plan.packets)}, {due}"
                f" bytes over all receivers, and received {received} bytes"
            )
        return ProductReport(
            point=coded.storage.point,
            rows=stored.rows.shape[1] * coded.storage.rows,
            element_bytes=stored.code.field.dtype.itemsize,
            finishers=coded.finishers,
            latencies=dict(self._election.latencies),
            expected=coded.load,
            packets=packets,
            payload=payload,
            header=header,
            discarded=self._election.discarded,
            seconds=seconds,
        )


def _counts(traffic: Traffic) -> tuple[int, ...]:
    return (
        traffic.sent_packets,
        traffic.sent_payload,
        traffic.sent_header,
        traffic.due,
        traffic.received,
    )


def _merged(parts: dict[tuple[int, ...], Array], N: int) -> Array:
    """Return all outputs side by side."""
    some = next(iter(parts.values()))
    Y = np.empty((some.shape[0], N), dtype=some.dtype)
    for outputs, columns in parts.items():
        Y[:, list(outputs)] = columns
    return Y
