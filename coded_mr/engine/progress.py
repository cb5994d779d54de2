"""Progress on standard error while a plan is carried out.

Every rank tells rank 0 how far it is, in one small message a second at most, and only when the one before
has left. Rank 0 looks for them between its own messages and shows what it knows. A rank's last message says
that it has finished; rank 0 waits for those of all, so that no message outlives the run.
"""

from __future__ import annotations

import logging
import os
import shutil
import socket
import sys
import time
from collections.abc import Callable
from typing import TextIO

import numpy as np
from mpi4py import MPI

from coded_mr.engine.progress_board import TERMINAL, Board, Status
from coded_mr.engine.waiting import Backoff, barrier, gather, wait

__all__ = ["Display", "Progress"]

# In seconds: what runs shorter shows nothing, how often a rank tells, how often rank 0 shows.
_QUIET = 2.0
_TELL = 1.0
_LOOK = 0.2
_LIVE = 0.5
_PLAIN = 5.0

_TAG = 0

# MPIs whose launcher passes on whole lines only: one that is overwritten would come when all is over.
_BY_LINE = ("Open MPI",)
_BYTES = len(Status("map", 0, 0).pack())
_FAREWELL = b"."


class Display:
    """Show lines one over the other on a terminal, one under the other and less often elsewhere."""

    def __init__(self, stream: TextIO, columns: int | None) -> None:
        """Write to a stream; `columns` is the width of the terminal, None when it is none."""
        self._stream = stream
        self._columns = columns
        self._due = _QUIET
        self._shown = False

    @classmethod
    def standard(cls) -> Display:
        """Return the display on standard error; lines of `-v` leave no place for one that is overwritten."""
        columns: int | None = None
        if not logging.getLogger("coded_mr").isEnabledFor(logging.INFO):
            if sys.stderr.isatty():
                columns = shutil.get_terminal_size().columns
            elif os.environ.get(TERMINAL, "").isdecimal() and MPI.get_vendor()[0] not in _BY_LINE:
                columns = int(os.environ[TERMINAL])
        return cls(sys.stderr, columns)

    def is_due(self, now: float) -> bool:
        """Tell whether it is time for a line, `now` seconds after the work began."""
        return now >= self._due

    def show(self, line: str, now: float) -> None:
        """Show a line."""
        if self._columns is None:
            self._write(f"coded-mr: {line}\n")
        else:
            self._write("\r" + f"coded-mr: {line}"[: max(self._columns - 1, 1)] + "\x1b[K")
        self._shown = True
        self._due = now + (_PLAIN if self._columns is None else _LIVE)

    def clear(self) -> None:
        """Leave the terminal as if nothing had been shown."""
        if self._shown and self._columns is not None:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


class Progress:
    """Tell rank 0 how far this rank is, and on rank 0 everybody.

    `poll` costs a look at the clock unless something is due. All methods but `poll` and `watch` are
    collective over the ranks of `comm` that work: a failure elsewhere ends the world, not these calls.
    """

    def __init__(self, comm: MPI.Intracomm, display: Display | None) -> None:
        """Start the clock; collective. `display` None, on all ranks alike: nothing is sent or shown."""
        self._comm = comm
        self._display = display
        self._look: Callable[[], Status] | None = None
        self._sent: MPI.Request | None = None
        self._missing = set(range(1, comm.size)) if comm.rank == 0 else set()
        hosts = gather(comm, socket.gethostname()) if display is not None else None
        self._board = Board(hosts) if hosts is not None else None
        self._zero = time.monotonic()
        self._due = _TELL

    def watch(self, look: Callable[[], Status]) -> None:
        """Ask `look` from now on how far this rank is."""
        self._look = look

    def poll(self) -> None:
        """Do what is due; call it often."""
        if self._display is None or self._look is None:
            return
        now = time.monotonic() - self._zero
        if now < self._due:
            return
        if self._board is None:
            self._due = now + _TELL
            if self._sent is None or self._sent.Test():
                self._tell(self._look().pack())
        else:
            self._due = now + _LOOK
            self._hear(now)
            self._board.hear(0, self._look(), now)
            if self._display.is_due(now) and (line := self._board.line(now)):
                self._display.show(line, now)

    def barrier(self) -> None:
        """Wait until every rank is here, and say meanwhile who is not."""
        if self._display is None:
            barrier(self._comm)
            return
        request, backoff = self._comm.Ibarrier(), Backoff()
        while not request.Test():
            self.poll()
            backoff.pause()

    def close(self) -> None:
        """Say that this rank is done; rank 0 waits until all are."""
        if self._display is None:
            return
        if self._board is None:
            if self._sent is not None:
                wait([self._sent])
            self._tell(_FAREWELL)
            assert self._sent is not None
            wait([self._sent])
            return
        backoff = Backoff()
        while self._missing:
            self._hear(time.monotonic() - self._zero)
            self.poll()
            backoff.pause()
        self._display.clear()

    def _tell(self, raw: bytes) -> None:
        self._sent = self._comm.Isend(np.frombuffer(raw, dtype=np.uint8), 0, _TAG)

    def _hear(self, now: float) -> None:
        assert self._board is not None
        status = MPI.Status()
        while self._comm.Iprobe(MPI.ANY_SOURCE, _TAG, status):
            buffer = np.empty(_BYTES, dtype=np.uint8)
            size, rank = status.Get_count(MPI.BYTE), status.Get_source()
            self._comm.Recv(buffer[:size], rank, _TAG)
            if size > len(_FAREWELL):
                self._board.hear(rank, Status.unpack(buffer.tobytes()), now)
            else:
                self._board.leave(rank)
                self._missing.discard(rank)
