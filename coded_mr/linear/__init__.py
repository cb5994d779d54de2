"""Coded linear algebra: products that finish although some servers are slow, unequal or gone.

`matmul` and `FieldMatrix` multiply over GF(2^8) and GF(2^16), exactly (arXiv 1609.01690); `matvec` and
`CodedMatrix` over the reals, with loads for unequal workers (arXiv 1904.09496); `elastic` and `ElasticMatrix`
while machines come and go (arXiv 2001.04005). `storage` and `shuffle` plan the first; `codes` holds the MDS
codes. The formulas are in `coded_mr.theory`: `straggling`, `load_allocation`, `elastic`. Importing this
imports neither MPI nor numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from coded_mr.linear.shuffle import CodedShuffle, shuffle
from coded_mr.linear.storage import CodedBatch, Storage, row_unit, share_rows, store

if TYPE_CHECKING:
    from coded_mr.linear.elastic_run import ElasticMatrix, elastic
    from coded_mr.linear.elastic_steps import ElasticSettings
    from coded_mr.linear.exact_product import FieldMatrix, matmul
    from coded_mr.linear.real_product import CodedMatrix, matvec

__all__ = [
    "CodedBatch",
    "CodedMatrix",
    "CodedShuffle",
    "ElasticMatrix",
    "ElasticSettings",
    "FieldMatrix",
    "Storage",
    "elastic",
    "matmul",
    "matvec",
    "row_unit",
    "share_rows",
    "shuffle",
    "store",
]

_RUNNERS = {
    "FieldMatrix": "exact_product",
    "matmul": "exact_product",
    "CodedMatrix": "real_product",
    "matvec": "real_product",
    "ElasticMatrix": "elastic_run",
    "elastic": "elastic_run",
    "ElasticSettings": "elastic_steps",
}


def __getattr__(name: str) -> Any:
    """Import what runs over MPI when it is asked for."""
    if name not in _RUNNERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_RUNNERS[name]}"), name)
