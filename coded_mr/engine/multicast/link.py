"""An emulated shared link for ranks on one host: one packet at a time, at a given rate.

It gives shared memory the property that the theory assumes of a network: a packet takes its length over the
rate, whoever sends it and to however many receivers. For experiments; a real network paces itself.
"""

from __future__ import annotations

import fcntl
import os
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from coded_mr.engine.window import Steps

__all__ = ["SharedLink", "paced"]

_FORMAT = "<d"


class SharedLink:
    """Reserve transmission times on a link that all ranks of a host share through a small file.

    Rank 0 makes the file with `create`, all open it by name; once they have, any may remove the name.
    """

    def __init__(self, path: str, bytes_per_second: float) -> None:
        """Open the link of that rate."""
        self._file = os.open(path, os.O_RDWR)
        self._path = path
        self.bytes_per_second = bytes_per_second

    @staticmethod
    def create() -> str:
        """Make an idle link and return its name."""
        descriptor, path = tempfile.mkstemp(prefix="coded-mr-link-")
        os.write(descriptor, struct.pack(_FORMAT, 0.0))
        os.close(descriptor)
        return path

    def remove(self) -> None:
        """Remove the name; ranks that have the file open go on."""
        Path(self._path).unlink(missing_ok=True)

    def close(self) -> None:
        """Close this rank's end."""
        os.close(self._file)

    def carries(self, size: int) -> Callable[[], bool]:
        """Reserve the link for so many bytes, after all that is reserved; return whether they are through."""
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            (free,) = struct.unpack(_FORMAT, os.pread(self._file, struct.calcsize(_FORMAT), 0))
            through = max(free, time.monotonic()) + size / self.bytes_per_second
            os.pwrite(self._file, struct.pack(_FORMAT, through), 0)
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)
        return lambda: time.monotonic() >= through


def paced(link: SharedLink | None, size: int) -> Steps[None]:
    """Wait until the link has carried so many bytes, if there is one."""
    if link is not None:
        yield link.carries(size)
