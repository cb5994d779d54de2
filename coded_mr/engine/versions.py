"""The versions of what a run used, and the seeds of what it drew."""

from __future__ import annotations

import os
import platform

import coded_mr

__all__ = ["seeds", "versions"]


def seeds() -> dict[str, str]:
    """Return the seed of Python's hashes on this rank: nothing else here draws random numbers."""
    return {"python_hash": os.environ.get("PYTHONHASHSEED", "random")}


def versions() -> dict[str, str]:
    """Return the versions of this package, Python, the libraries and MPI, as this rank sees them."""
    import mpi4py
    import numpy as np
    from mpi4py import MPI

    return {
        "coded_mr": coded_mr.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "mpi4py": mpi4py.__version__,
        "mpi": MPI.Get_library_version().splitlines()[0].strip().strip("\0"),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }
