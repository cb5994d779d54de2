"""A rank that is told by signals that its machine is about to leave, or is back.

SIGUSR1 is the warning: finish this step, and take no part in the next ones. SIGUSR2 takes it back. Slurm
sends such a warning before it preempts a job (`sbatch --signal`), as other schedulers do.
"""

from __future__ import annotations

import signal
from types import FrameType

__all__ = ["AWAY", "BACK", "Preemption"]

AWAY, BACK = signal.SIGUSR1, signal.SIGUSR2


class Preemption:
    """Note both signals from now on, in the main thread; they no longer end the process."""

    def __init__(self) -> None:
        """Begin to listen."""
        self._away = self._told = False
        for number in (AWAY, BACK):
            signal.signal(number, self._note)

    def news(self) -> bool | None:
        """Return whether the machine is away, if that has changed since it was last asked; else None."""
        if self._away == self._told:
            return None
        self._told = self._away
        return self._away

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._away = number == AWAY
