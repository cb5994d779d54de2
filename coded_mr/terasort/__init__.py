"""Make, sort and check TeraSort data: records of 100 bytes, ordered by their first 10.

`generate` writes inputs, `validate` checks outputs, `splitters` cuts the key range into partitions of
equal size, `sort` orders the records of one partition. Numpy is imported by those modules, not here.
"""

from __future__ import annotations

__all__ = ["KEY_BYTES", "RECORD_BYTES"]

RECORD_BYTES = 100
KEY_BYTES = 10
