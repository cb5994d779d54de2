"""Memory given back to the system, so that what is measured next does not profit from what came before."""

from __future__ import annotations

import ctypes

__all__ = ["give_back"]


def give_back() -> None:
    """Return freed memory to the system, where the C library can (glibc).

    Memory that a process touches for the first time costs far more than what it has used before.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
