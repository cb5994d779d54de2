"""How many datagrams a rank has under way: more while all arrive promptly, fewer when some are lost."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Flow"]

_START, _LEAST, _MOST = 32, 16, 256
_GROWTH = 8.0
# Seconds until the reports, beyond which datagrams queue somewhere: more of them would only overflow it.
_PROMPT = 0.02
# After so many rounds in a row of which a receiver heard nothing, the network carries no multicast any more.
_DEAF_ROUNDS = 6


class Flow:
    """Bound a rank's datagrams under way over all its packets: additive growth, proportional decrease.

    It doubles with every round until the first that comes late or incomplete.
    The window shrinks by half the share that was lost, so that random losses do not close it, while an
    overflowing queue does within a few rounds.
    """

    def __init__(self) -> None:
        """Start with a window that a small switch can hold from every host at once."""
        self.window = float(_START)
        self._flying = 0
        self._deaf = 0
        self._rising = True

    @property
    def hopeless(self) -> bool:
        """Tell whether multicast seems to have stopped working."""
        return self._deaf >= _DEAF_ROUNDS

    def room(self, wanted: int) -> Callable[[], bool]:
        """Return a condition: half of the window, or of what is wanted, is free."""
        return lambda: self._free() >= min(wanted, max(_LEAST, int(self.window) // 2))

    def take(self, wanted: int) -> int:
        """Take up to `wanted` datagrams' room, at least one, and return how many."""
        granted = max(1, min(wanted, self._free()))
        self._flying += granted
        return granted

    def heard(self, sent: int, lost: int, seconds: float) -> None:
        """Learn that of `sent` datagrams the unluckiest receiver lost `lost`, told after so many seconds."""
        self._flying -= sent
        self._deaf = self._deaf + 1 if lost == sent else 0
        self._rising &= not lost and seconds < _PROMPT
        if lost:
            self.window = max(self.window * (1 - lost / sent / 2), _LEAST)
        elif seconds < _PROMPT:
            growth = sent if self._rising else _GROWTH * sent / self.window
            self.window = min(self.window + growth, _MOST)

    def _free(self) -> int:
        return int(self.window) - self._flying
