"""Many packets under way at once, within a bound on their number and bytes.

A packet's side of the transfer is a generator. It yields

* a list of MPI requests: go on when all are complete;
* a condition, a function without arguments: go on when it is true; as a `Need`, when other work of this rank
  has made it true;
* `Reserve(n)`: go on when n more bytes of payload fit the window;
* `POSTED`: its last broadcast on its communicator is posted, so that the next packet there may start.

Packets enter in the order of the schedule, which all ranks share. The oldest packet in a window always gets
its bytes. The first packet of the schedule that is incomplete anywhere is therefore the oldest at each of
its ranks, and completes: the window cannot deadlock, however small it is.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from mpi4py import MPI

from coded_mr.engine.waiting import Backoff

__all__ = ["POSTED", "Need", "Posted", "Reserve", "Steps", "Transfer", "Window"]

T = TypeVar("T")


@dataclass(frozen=True)
class Reserve:
    """Ask for room for so many bytes of payload."""

    bytes: int


@dataclass(frozen=True)
class Need:
    """Ask for something that this rank must do beside its transfers before the condition is true."""

    condition: Callable[[], bool]

    def __call__(self) -> bool:
        """Tell whether it is done."""
        return self.condition()


class Posted:
    """Mark that a transfer has posted its last broadcast."""


POSTED = Posted()

Steps: TypeAlias = Generator["list[MPI.Request] | Callable[[], bool] | Reserve | Posted", None, T]


@dataclass(frozen=True)
class Transfer:
    """Hold one side of a packet's transfer; `channel` carries the postings of one transfer at a time."""

    steps: Steps[None]
    channel: Hashable | None = None


class _Active:
    """A transfer in the window, and what it waits for."""

    def __init__(self, transfer: Transfer) -> None:
        self.steps = transfer.steps
        self.channel = transfer.channel
        self.requests: list[MPI.Request] = []
        self.condition: Callable[[], bool] | None = None
        self.wanted: Reserve | None = None
        self.reserved = 0


class Window:
    """Drive transfers to their end, `packets` of them at once with at most `bytes` of payload.

    A single payload larger than that still travels, alone.
    """

    def __init__(self, *, packets: int = 32, bytes: int = 64 << 20) -> None:
        """Bound the window; both at least 1."""
        self._max_packets = packets
        self._max_bytes = bytes
        self._active: list[_Active] = []
        self._busy: set[Hashable] = set()
        self._bytes = 0

    @property
    def needs_more(self) -> bool:
        """Tell whether the oldest transfer needs other work of this rank, or there is no transfer."""
        return not self._active or isinstance(self._active[0].condition, Need)

    def run(self, transfers: Iterable[Transfer], tick: Callable[[], bool] = lambda: False) -> None:
        """Drive all transfers, which enter in the order given, until the last is complete.

        `tick` is called over and over; it returns whether it did something.
        """
        entering = iter(transfers)
        waiting = next(entering, None)
        backoff = Backoff()
        while waiting or self._active:
            moved = False
            while waiting and len(self._active) < self._max_packets and waiting.channel not in self._busy:
                self._enter(waiting)
                waiting = next(entering, None)
                moved = True
            moved |= self._advance_all()
            moved |= tick()
            if moved:
                backoff.reset()
            else:
                backoff.pause()

    def _enter(self, transfer: Transfer) -> None:
        if transfer.channel is not None:
            self._busy.add(transfer.channel)
        self._active.append(_Active(transfer))

    def _advance_all(self) -> bool:
        moved = False
        for active in list(self._active):
            while self._is_ready(active):
                moved = True
                if not self._step(active):
                    self._active.remove(active)
                    self._bytes -= active.reserved
                    break
        return moved

    def _is_ready(self, active: _Active) -> bool:
        if active.condition is not None:
            if not active.condition():
                return False
            active.condition = None
        if active.wanted is not None:
            size = active.wanted.bytes
            if active is not self._active[0] and self._bytes + size > self._max_bytes:
                return False
            active.wanted = None
            active.reserved += size
            self._bytes += size
        return not active.requests or MPI.Request.Testall(active.requests)

    def _step(self, active: _Active) -> bool:
        """Run a ready transfer to its next yield; return whether there was one."""
        active.requests = []
        try:
            step = next(active.steps)
        except StopIteration:
            return False
        if isinstance(step, Reserve):
            active.wanted = step
        elif isinstance(step, Posted):
            self._busy.discard(active.channel)
        elif callable(step):
            active.condition = step
        else:
            active.requests = step
        return True
