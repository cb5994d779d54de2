"""How many datagrams a rank has under way: more while they arrive promptly, fewer when they pile up."""

from __future__ import annotations

from collections import deque

__all__ = ["Flow"]

_START, _LEAST, _MOST = 32, 16, 256
_GROWTH = 8.0
_MOST_INTERVAL = 32
# Seconds until the answers: beyond the first, datagrams queue somewhere, and more of them would only wait
# longer; beyond the second, a queue is likely to overflow.
_PROMPT, _LATE = 0.02, 0.05
# The least share lost in so many rounds is what the network loses whatever the window.
_ROUNDS = 16
# After so many rounds in a row of which nothing was heard, the network carries no multicast any more.
_DEAF_ROUNDS = 6


class Flow:
    """Bound a rank's datagrams under way over all its packets: additive growth, proportional decrease.

    It doubles with every round until the first that comes late or incomplete. Losses shrink it only as far
    as they exceed those that come whatever its size, so that an overflowing queue does, and noise does not.
    """

    def __init__(self) -> None:
        """Start with a window that a small switch can hold from every host at once."""
        self.window = float(_START)
        self._lost: deque[float] = deque([0.0], maxlen=_ROUNDS)
        self._deaf = 0
        self._rising = True

    @property
    def hopeless(self) -> bool:
        """Tell whether multicast seems to have stopped working."""
        return self._deaf >= _DEAF_ROUNDS

    @property
    def interval(self) -> int:
        """Return after how many datagrams to ask what has come: before the window is full, yet seldom."""
        return min(int(self.window) // 2, _MOST_INTERVAL)

    def heard(self, sent: int, lost: float, seconds: float) -> None:
        """Learn that a share of `sent` datagrams was lost, as the first answer told after so many seconds."""
        self._deaf = self._deaf + 1 if lost >= 1.0 else 0
        excess = lost - 2 * min(self._lost)
        self._lost.append(lost)
        self._rising &= excess <= 0 and seconds < _PROMPT
        if excess > 0:
            self.window *= 1 - min(excess, 1.0) / 2
        elif seconds > _LATE:
            self.window *= 0.9
        elif seconds < _PROMPT:
            self.window += sent if self._rising else _GROWTH * sent / self.window
        self.window = min(max(self.window, _LEAST), _MOST)
