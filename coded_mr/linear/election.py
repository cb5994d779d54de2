"""Which servers finished first: rank 0 counts them, and answers those that are late."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice
from typing import Any

import numpy.typing as npt
from mpi4py import MPI

from coded_mr.linear.letters import Kind, Letter, Letters

__all__ = ["Election"]

_NANO = 1e-9


class Election:
    """Hand a job's vectors to the servers that ask, and decide for the first q that have mapped them.

    Lives on rank 0. Nothing here waits: a server that does not ask is not sent the vectors. How a job ended
    is sent to all, because nobody may be here to answer those who ask for it later.

    latencies  seconds that the maps of the finishers took, by rank, in the order of finishing
    results    the letters of finishers whose outputs are on their way, by rank
    leaving    the ranks that have nothing more to do; gone  those of them that wait for nothing more
    discarded  how many letters came after their job was decided
    """

    def __init__(self, letters: Letters, data: MPI.Intracomm, q: int, *, reopens: bool) -> None:
        """Wait for q servers, of the ranks of `data`, which carries the vectors, in each job.

        reopens  whether a job may go on with others of its servers once it is decided
        """
        self._letters = letters
        self._data = data
        self._q = q
        self._reopens = reopens
        self._job = self._attempt = -1
        self._numbers = (0, 0)
        self._vectors: npt.NDArray[Any] | None = None
        self._given: list[int] = []
        self._finished: dict[int, float] = {}
        self._early: list[Letter] = []
        self._dead: frozenset[int] = frozenset()
        self.latencies: dict[int, float] = {}
        self.results: dict[int, Letter] = {}
        self.leaving: set[int] = set()
        self.gone: set[int] = set()
        self.discarded = 0

    def open(self, job: int, vectors: npt.NDArray[Any], collect: bool) -> None:
        """Begin a job; the vectors are one to a column."""
        self._job, self._vectors = job, vectors
        self._numbers = (vectors.shape[1], int(collect))
        self._given, self._finished = [], {}
        self._answer_early()

    def bury(self, dead: frozenset[int]) -> None:
        """Count no more on ranks that have died."""
        self._dead = dead
        self._finished = {server: took for server, took in self._finished.items() if server not in dead}

    def refuse(self, job: int, reason: str) -> None:
        """Tell all that this job cannot be."""
        self._job, self._given = job, []
        self._early.clear()
        self._tell_all(Kind.REFUSED, tuple(reason.encode()))

    @property
    def finished(self) -> Collection[int]:
        """Return the servers that have finished the job."""
        return self._finished.keys()

    @property
    def decided(self) -> bool:
        """Tell whether q servers have finished."""
        return len(self._finished) >= self._q

    def finish(self, server: int, nanoseconds: int) -> None:
        """Count a server that has finished."""
        if server not in self._dead:
            self._finished.setdefault(server, nanoseconds * _NANO)

    def announce(self, attempt: int) -> tuple[int, ...]:
        """Tell everyone who takes part, and return the finishers, ascending; others come too late.

        `attempt` grows from announcement to announcement.
        """
        self.latencies = dict(islice(self._finished.items(), self._q))
        self.results = {}
        self._attempt = attempt
        if not self._reopens:
            self._vectors = None
        finishers = tuple(sorted(self.latencies))
        for server in self._given:
            self._letters.send(server, Kind.FINISHERS, self._job, (attempt, *finishers))
        return finishers

    def end(self) -> None:
        """Tell all, also those who have yet to ask, that the job is over."""
        self._tell_all(Kind.OVER)

    def _tell_all(self, kind: Kind, numbers: tuple[int, ...] = ()) -> None:
        """Tell all other servers how the job has ended."""
        self._vectors = None
        for server in range(1, self._data.size):
            if server not in self._dead:
                self._letters.send(server, kind, self._job, numbers)

    def poll(self) -> bool:
        """Take and answer one letter; return whether there was one."""
        letter = self._letters.take()
        if letter is None:
            return False
        if letter.kind is Kind.READY:
            self._answer(letter)
        elif letter.kind is Kind.LEAVE:
            self.leaving.add(letter.source)
        elif letter.kind is Kind.GONE:
            self.gone.add(letter.source)
        elif letter.job == self._job and letter.kind is Kind.RESULT and letter.numbers[0] == self._attempt:
            self.results[letter.source] = letter
        elif letter.job == self._job and letter.kind is Kind.DONE and self._vectors is not None:
            self.discarded += self.decided
            self.finish(letter.source, letter.numbers[0])
        else:
            self.discarded += 1
        return True

    def _answer_early(self) -> None:
        """Answer those who asked for a job before it had begun."""
        early, self._early = self._early, []
        for letter in early:
            self._answer(letter)

    def _answer(self, letter: Letter) -> None:
        """Hand out the vectors, but to those who come too late: all are told how a job ended."""
        server, job = letter.source, letter.job
        if job > self._job:
            self._early.append(letter)  # a finisher that has delivered, while others have not
        elif job != self._job or self._vectors is None:
            self.discarded += 1
        else:
            self._given.append(server)
            self._letters.send(server, Kind.VECTORS, job, self._numbers)
            self._letters.send_array(self._data, server, self._vectors)
