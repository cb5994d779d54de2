"""Coded linear algebra: products that finish although some servers are slow, unequal or gone.

`matmul` and `FieldMatrix` multiply over GF(2^8) and GF(2^16), exactly (arXiv 1609.01690); `matvec` and
`CodedMatrix` over the reals, with loads for unequal workers (arXiv 1904.09496); `elastic_run` while machines
come and go (arXiv 2001.04005). `storage` and `shuffle` plan the first; `codes` holds the MDS codes. The
formulas are in `coded_mr.theory`: `straggling`, `load_allocation`, `elastic`. Importing this imports neither
MPI nor numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coded_mr.linear.shuffle import CodedShuffle, shuffle
from coded_mr.linear.storage import CodedBatch, Storage, row_unit, share_rows, store

if TYPE_CHECKING:
    from coded_mr.linear.exact_product import FieldMatrix, matmul
    from coded_mr.linear.real_product import CodedMatrix, matvec

__all__ = [
    "CodedBatch",
    "CodedMatrix",
    "CodedShuffle",
    "FieldMatrix",
    "Storage",
    "matmul",
    "matvec",
    "row_unit",
    "share_rows",
    "shuffle",
    "store",
]


def __getattr__(name: str) -> Any:
    """Import what runs over MPI when it is asked for."""
    if name in ("FieldMatrix", "matmul"):
        from coded_mr.linear import exact_product

        return getattr(exact_product, name)
    if name in ("CodedMatrix", "matvec"):
        from coded_mr.linear import real_product

        return getattr(real_product, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
