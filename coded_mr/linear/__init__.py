"""Coded linear algebra: products that finish although some servers are slow, unequal or gone.

`storage` and `shuffle` plan the unified scheme of arXiv 1609.01690; `codes` holds the MDS codes. The
formulas are in `coded_mr.theory`: `straggling`, `load_allocation`, `elastic`. Importing this imports neither
MPI nor numpy.
"""

from coded_mr.linear.shuffle import CodedShuffle, shuffle
from coded_mr.linear.storage import CodedBatch, Storage, row_unit, share_rows, store

__all__ = [
    "CodedBatch",
    "CodedShuffle",
    "Storage",
    "row_unit",
    "share_rows",
    "shuffle",
    "store",
]
