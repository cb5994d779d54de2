"""One thread for the user's code, so that MPI progresses on the main thread meanwhile."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeAlias, TypeVar

from mpi4py import MPI

__all__ = ["Worker"]

T = TypeVar("T")
_Call: TypeAlias = tuple[Callable[[], object], Future[object]]

# How often the main thread looks after MPI while the worker computes, in seconds.
_PROGRESS_INTERVAL = 0.002


class Worker:
    """Run calls one after the other in one daemon thread, which never keeps a failed rank alive.

    All user code of a rank runs in it: a job may hold what belongs to one thread.
    """

    def __init__(self, comm: MPI.Comm) -> None:
        """Start the thread; `comm` is what the caller's waiting makes progress on."""
        self._comm = comm
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        threading.Thread(target=self._serve, name="coded-mr-worker", daemon=True).start()

    def start(self, call: Callable[[], T]) -> Future[T]:
        """Run the call in the thread, after those before it; the future has its result or what it raised."""
        done: Future[T] = Future()
        self._calls.put((call, done))  # type: ignore[arg-type]
        return done

    def run(self, call: Callable[[], T]) -> T:
        """Run the call in the thread and return its result, or raise what it raised."""
        done = self.start(call)
        while not self.wait(done):
            pass
        return done.result()

    def wait(self, done: Future[T]) -> bool:
        """Wait a moment for a call while MPI progresses; return whether it is done."""
        if wait([done], timeout=_PROGRESS_INTERVAL).done:
            return True
        self._comm.Iprobe()
        return False

    def close(self) -> None:
        """Let the thread end after the calls before this; it takes no more."""
        self._calls.put(None)

    def _serve(self) -> None:
        while (given := self._calls.get()) is not None:
            call, done = given
            try:
                done.set_result(call())
            except BaseException as error:  # handed to the caller, who raises it
                done.set_exception(error)
