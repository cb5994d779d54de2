"""What every transport offers: two generators for the two sides of a packet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from coded_mr.engine.window import Steps
from coded_mr.plan.model import Packet

__all__ = ["Array", "Sent", "Transport"]

Array = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Sent:
    """Tell what sending a packet took.

    `wire` bytes of header and payload left a host, once for every copy, repairs included. Of the datagrams,
    `repairs` combined what was lost, and `rest` pieces went to a receiver over MPI after all.
    """

    wire: int
    datagrams: int = 0
    repairs: int = 0
    rest: int = 0


class Transport(Protocol):
    """Deliver packets from their senders to their receivers; `engine.window` drives both sides."""

    def send(self, number: int, packet: Packet, header: bytes, payload: Array) -> Steps[Sent]:
        """Deliver the packet's header and payload to its receivers; return what that took."""
        ...

    def receive(
        self, number: int, packet: Packet, header_size: int, payload_size: Callable[[Array], int]
    ) -> Steps[tuple[Array, Array]]:
        """Return the packet's header and payload; `payload_size` tells the latter's size from the former."""
        ...

    def poll(self) -> bool:
        """Look after what is under way beside the packets' steps; tell whether anything moved."""
        ...

    def close(self, tick: Callable[[], bool]) -> None:
        """End, when all packets of this rank are through; collective. `tick` is called meanwhile."""
        ...
