"""Planning a coded product needs neither numpy nor MPI; only the codes' arithmetic does."""

from __future__ import annotations

import subprocess
import sys


def test_planning_is_imported_without_numpy_galois_or_mpi() -> None:
    names = (
        "linear",
        "linear.codes",
        *(f"theory.{name}" for name in ("straggling", "elastic", "runtime_fit")),
    )
    imports = ", ".join(f"coded_mr.{name}" for name in (*names, "theory.finite_allocation"))
    code = f"import sys, {imports}; print(sorted({{'numpy', 'galois', 'mpi4py'}} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
