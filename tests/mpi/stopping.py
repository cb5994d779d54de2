"""Stop processes of this host by SIGSTOP for a while, without harm to messages under way."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

__all__ = ["stopped"]

# A rank that is stopped while it sends could leave the queue of shared memory unusable for the receiver.
# Those of the checks have answered after this long, and only wait.
_UNTIL_THEY_WAIT = 0.2


@contextmanager
def stopped(processes: Sequence[int]) -> Iterator[None]:
    """Stop processes, which wait for messages, while inside."""
    time.sleep(_UNTIL_THEY_WAIT)
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)
