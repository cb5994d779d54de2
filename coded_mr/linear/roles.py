"""The two parts in a product that does not wait for all: rank 0 leads, every rank is a server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from mpi4py import MPI

from coded_mr.engine.multicast import Carrier
from coded_mr.engine.traffic import Traffic
from coded_mr.engine.waiting import Backoff, wait
from coded_mr.errors import ConservationError, LostRankError, UsageError
from coded_mr.linear.coded_map import CodedMap, Mapped
from coded_mr.linear.election import Election
from coded_mr.linear.encoding import Stored
from coded_mr.linear.letters import Kind, Letter, Letters, receive_array
from coded_mr.linear.losses import Deadline, Losses
from coded_mr.linear.reduction import reduce_outputs
from coded_mr.linear.report import ProductReport
from coded_mr.linear.shuffle import CodedShuffle, shuffle
from coded_mr.linear.storage import store
from coded_mr.theory.straggling import Setting

if TYPE_CHECKING:
    from coded_mr.linear.codes.field import Array

__all__ = ["FieldProduct", "Leader", "Server", "Site"]

T = TypeVar("T")

_NANO = 1e-9
_LEADERLESS = "rank 0 leads, and nothing can be finished without it; run again"

_Parts: TypeAlias = dict[tuple[int, ...], "Array"]
_Counts: TypeAlias = dict[int, tuple[int, ...]]


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


class _Interrupted(Exception):
    """Say, within this module, that an attempt to shuffle is given up because a finisher has died."""


class Site:
    """Hold what a rank needs for every job, whatever its part.

    letters  small messages; losses  who has died; stored  this rank's part of the matrix
    data     communicators of everything else, one for each attempt at a shuffle: what an attempt that was
             given up has still under way cannot be mistaken for another's
    """

    def __init__(
        self,
        letters: Letters,
        data: Sequence[MPI.Intracomm],
        losses: Losses,
        stored: Stored,
        mu: Fraction,
        q: int,
        kernel: str | None,
        limit: float | None,
    ) -> None:
        """Start the worker thread; `limit`: seconds that a product may take, None for any."""
        self.letters, self.data, self.losses, self.stored = letters, data, losses, stored
        self.mu, self.q, self.limit = mu, q, limit
        self.rank, self.size = data[0].rank, data[0].size
        self.map = CodedMap(data[0], stored.code.field, stored.rows, kernel=kernel)
        self.plan = lru_cache(maxsize=8)(self._plan)
        # Making a communicator for a group may hang when one of its members dies.
        self._carrier = Carrier("unicast" if losses.survives else "groups")
        self._given_up: list[BaseException] = []

    def _plan(self, finishers: tuple[int, ...], N: int) -> CodedShuffle:
        return shuffle(store(Setting(self.size, self.mu, N).point(self.q)), finishers)

    def reduce(
        self, coded: CodedShuffle, mapped: Mapped, attempt: int, idle: Callable[[], None]
    ) -> tuple[Array, tuple[int, ...], tuple[int, ...]]:
        """Return a finisher's outputs, which they are, and the numbers of its letter RESULT."""
        started = time.perf_counter_ns()
        own, traffic = reduce_outputs(
            self.data[attempt], coded, self.stored.code, mapped.products, carrier=self._carrier, idle=idle
        )
        outputs = coded.outputs[coded.finishers.index(self.rank)]
        took = time.perf_counter_ns() - started
        return own[: self.stored.shape[0]], outputs, (*_counts(traffic), took)

    def attempted(self, act: Callable[[], T]) -> T | None:
        """Return what `act` returns, None if a finisher dies on the way; rank 0 takes care of that."""
        try:
            return act()
        except _Interrupted as error:
            # Its traceback keeps the buffers alive into which messages may still come.
            self._given_up.append(error)
        except MPI.Exception as error:
            if not self.losses.caused(error):
                raise
            self._given_up.append(error)
        return None


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
        with site.losses.no_death(_LEADERLESS):
            wait(receive_array(site.data[0], 0, vectors))
        site.map.start(vectors, slow)
        product: FieldProduct | None = None
        mapped = _Telling(site, job)
        while (letter := self._next(mapped.tell)).kind is not Kind.OVER:
            product, (attempt, *finishers) = None, letter.numbers
            if site.rank in finishers and mapped.value is not None:
                coded = site.plan(tuple(finishers), N)
                deliver = partial(self._deliver, job, coded, mapped.value, attempt, bool(collect))
                product = site.attempted(deliver)
            elif not site.losses.survives:
                site.map.call_off()  # what nobody can need any more
        site.map.call_off()
        return product

    def leave(self, job: int) -> tuple[int, ...]:
        """Say that this rank has nothing more to do; return who never said so."""
        self._site.letters.send(0, Kind.LEAVE, job)
        absent = self._next().numbers
        self._site.letters.send(0, Kind.GONE, job)
        return absent

    def _deliver(
        self, job: int, coded: CodedShuffle, mapped: Mapped, attempt: int, collect: bool
    ) -> FieldProduct | None:
        """Shuffle, and send the outputs to rank 0 or return them."""
        site = self._site
        own, outputs, numbers = site.reduce(coded, mapped, attempt, self._obey)
        site.letters.send(0, Kind.RESULT, job, (attempt, *numbers))
        if not collect:
            return FieldProduct(own, outputs)
        site.letters.send_array(site.data[attempt], 0, own)
        return None

    def _obey(self) -> None:
        """Give up an attempt when rank 0 writes before it is over: it has decided anew."""
        if self._site.letters.waiting(0):
            raise _Interrupted

    def _next(self, meanwhile: Callable[[], None] = lambda: None) -> Letter:
        """Wait for rank 0's next letter."""
        backoff, losses = Backoff(), self._site.losses
        while (letter := self._site.letters.take(0)) is None:
            losses.look()
            if 0 in losses.dead:
                raise LostRankError(f"{losses.names([0])} died: {_LEADERLESS}")
            meanwhile()
            backoff.pause()
        return letter


class _Telling:
    """Tell rank 0 once when this server has mapped everything."""

    def __init__(self, site: Site, job: int) -> None:
        self._site, self._job = site, job
        self.value: Mapped | None = None

    def tell(self) -> None:
        if self.value is None and (mapped := self._site.map.result()) is not None:
            self.value = mapped
            self._site.letters.send(0, Kind.DONE, self._job, (mapped.nanoseconds,))


class Leader:
    """Be rank 0, which hands out the vectors, counts who has finished, and collects the outputs."""

    def __init__(self, site: Site) -> None:
        """Work at a site."""
        self._site = site
        self._election = Election(site.letters, site.data[0], site.q, reopens=site.losses.survives)
        self._attempt = 0
        self._awaited: tuple[int, ...] = ()
        self._mapped: Mapped | None = None
        self._until = Deadline(site.losses, None)

    def multiply(self, job: int, X: Any, collect: bool, slow: float) -> FieldProduct:
        """Carry out one job."""
        site, started = self._site, time.perf_counter()
        try:
            vectors = self._vectors(X)
        except UsageError as error:
            self._election.refuse(job, str(error))
            raise
        self._mapped = None
        self._until = Deadline(site.losses, site.limit)
        self._election.open(job, vectors, collect)
        site.map.start(vectors, slow)
        while True:
            self._elect()
            coded = site.plan(self._election.announce(self._attempt), vectors.shape[1])
            seconds = {"map": time.perf_counter() - started}
            done = self._shuffled(coded, collect)
            if done is not None:
                break
            self._attempt += 1
        self._election.end()
        self._until = Deadline(site.losses, None)
        site.map.call_off()
        parts, counts = done
        outputs = tuple(sorted(output for own in parts for output in own))
        Y = _merged(parts, outputs, (site.stored.shape[0], vectors.dtype))
        seconds["shuffle and decode"] = max(numbers[-1] for numbers in counts.values()) * _NANO
        seconds["total"] = time.perf_counter() - started
        report = self._report(coded, counts, seconds)
        return FieldProduct(Y[:, 0] if np.ndim(X) == 1 and outputs else Y, outputs, report)

    def dismiss(self, job: int, patience: float) -> tuple[int, ...]:
        """Wait for all to leave; tell those who came, and return who did not within `patience` seconds."""
        election, losses = self._election, self._site.losses
        others = set(range(1, self._site.size))

        def wait_for(some: set[int], ranks: set[int]) -> None:
            until = time.monotonic() + patience
            self._poll_until(lambda: ranks <= some | losses.dead or time.monotonic() > until)

        wait_for(election.leaving, others)
        absent = tuple(sorted(others - election.leaving))
        for server in election.leaving:
            self._site.letters.send(server, Kind.ABSENT, job, absent)
        wait_for(election.gone, set(election.leaving))
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

    def _elect(self) -> None:
        """Wait until q living servers have finished; raises LostRankError if there are fewer."""

        def decided() -> bool:
            if self._mapped is None and (mapped := self._site.map.result()) is not None:
                self._mapped = mapped
                self._election.finish(0, mapped.nanoseconds)
            self._check_living()
            return self._election.decided

        self._poll_until(decided)

    def _check_living(self) -> None:
        site, dead = self._site, self._site.losses.dead
        if site.size - len(dead) < site.q:
            raise LostRankError(
                f"{site.losses.names(dead)} died: {site.size - len(dead)} of {site.size} servers are left,"
                f" and this matrix is stored for q = {site.q} finishers; choose a smaller q, or more servers"
            )

    def _shuffled(self, coded: CodedShuffle, collect: bool) -> tuple[_Parts, _Counts] | None:
        """Return outputs and counts of the finishers; None if one of them has died."""
        self._awaited = coded.finishers
        done = self._site.attempted(lambda: self._shuffle(coded, collect))
        self._awaited = ()
        if done is None:
            self._poll_until(lambda: not self._site.losses.dead.isdisjoint(coded.finishers))
        return done

    def _shuffle(self, coded: CodedShuffle, collect: bool) -> tuple[_Parts, _Counts]:
        """Take part, if among the finishers, and wait for what they bring."""
        parts: _Parts = {}
        counts: _Counts = {}
        if 0 in coded.finishers and self._mapped is not None:
            own, outputs, counts[0] = self._site.reduce(coded, self._mapped, self._attempt, self._attend)
            parts[outputs] = own
        elif not self._site.losses.survives:
            self._site.map.call_off()
        self._collect(coded, parts, counts, collect)
        return parts, counts

    def _collect(self, coded: CodedShuffle, parts: _Parts, counts: _Counts, collect: bool) -> None:
        """Wait for the finishers' letters and their outputs, if they are to be collected."""
        stored = self._site.stored
        for server, outputs in zip(coded.finishers, coded.outputs, strict=True):
            if server == 0:
                continue
            self._poll_until(lambda server=server: server in self._election.results)  # type: ignore[misc]
            counts[server] = self._election.results[server].numbers[1:]
            if collect:
                parts[outputs] = np.empty((stored.shape[0], len(outputs)), dtype=stored.code.field.dtype)
                arriving = receive_array(self._site.data[self._attempt], server, parts[outputs])
                self._poll_until(lambda arriving=arriving: MPI.Request.Testall(arriving))  # type: ignore[misc]

    def _poll_until(self, reached: Callable[[], bool]) -> None:
        """Answer letters until a condition holds."""
        backoff = Backoff()
        while not reached():
            self._attend()
            if self._election.poll():
                backoff.reset()
            else:
                backoff.pause()

    def _attend(self) -> None:
        """Learn of deaths; give an attempt up when it can have no end, and everything when time is up."""
        losses = self._site.losses
        if losses.look():
            self._election.bury(losses.dead)
        if losses.dead.intersection(self._awaited):
            raise _Interrupted
        self._until.check(self._owing)

    def _owing(self) -> Iterator[int]:
        """Name the servers that have not done what is waited for: to finish, or to deliver."""
        finished = self._election.results if self._awaited else self._election.finished
        for server in self._awaited or range(self._site.size):
            if server and server not in finished and server not in self._site.losses.dead:
                yield server

    def _report(self, coded: CodedShuffle, counts: _Counts, seconds: dict[str, float]) -> ProductReport:
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
            dead=tuple(sorted(self._site.losses.dead)),
            attempts=self._attempt + 1,
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


def _merged(parts: _Parts, outputs: tuple[int, ...], like: tuple[int, np.dtype[Any]]) -> Array:
    """Return these outputs side by side, of so many rows and this type."""
    rows, dtype = like
    place = {output: at for at, output in enumerate(outputs)}
    Y = np.empty((rows, len(outputs)), dtype=dtype)
    for some, columns in parts.items():
        Y[:, [place[output] for output in some]] = columns
    return Y
