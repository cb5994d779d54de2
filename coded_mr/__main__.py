"""`python -m coded_mr` and the `coded-mr` command."""

from __future__ import annotations

import sys

from coded_mr.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
