"""The versions of what a run used."""

from __future__ import annotations

import platform

import coded_mr

__all__ = ["versions"]


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
