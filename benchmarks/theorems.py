"""Measured times beside T* of both theorems: `python -m benchmarks.theorems [UNIT_SECONDS]`.

The paper's example, Q = 3 and costs (1, 2, 1), on up to 9 ranks of one host: maps and reduces sleep, and an
emulated shared link carries one packet at a time, so that cores and memory are not the limit. One unit of
cost is UNIT_SECONDS (default 3). For r = 0 the paper needs endless helpers: there are 6.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from coded_mr.plan.planner import Request, decide
from coded_mr.terasort.kinds import make_records
from coded_mr.theory.allocation import parallel, sequential
from coded_mr.theory.costs import Costs

_JOB = Path(__file__).with_name("timed_job.py")
_Q = 3
_COSTS = Costs.parse("1,2,1")
_RECORDS = 43_200  # divided evenly by every number of batches that occurs, times the slices


def main(words: list[str]) -> int:
    """Print predicted and measured time for each r and both implementations."""
    unit = float(words[0]) if words else 3.0
    print("implementation   r       predicted T   measured T   ratio   (units of cost; * the optimum T*)")
    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch) / "data"
        data.write_bytes(make_records("uniform", 0, _RECORDS).tobytes())
        for implementation, optimum in (("sequential", sequential), ("parallel", parallel)):
            best = optimum(_Q, _COSTS)
            for r in (None, 0, 1, 2, 3):
                predicted, measured = _run(data, Path(scratch), implementation, r, unit)
                mark = f"{best.r_star}*" if r is None else str(r)
                print(
                    f"{implementation:14} {mark:>6} {predicted:>15.4f} {measured:>12.4f} "
                    f"{measured / predicted:>7.3f}",
                    flush=True,
                )
    return 0


def _run(data: Path, scratch: Path, implementation: str, r: int | None, unit: float) -> tuple[float, float]:
    size = data.stat().st_size
    request = Request(
        _Q, 9, r=r, helpers=6 if r == 0 else None, scheme=None, implementation=implementation,  # type: ignore[arg-type]
    )  # fmt: skip
    chosen = decide(request, _COSTS).chosen
    report = scratch / "report.json"
    command = [
        sys.executable, "-m", "coded_mr", "run", str(_JOB), str(data), "-o", str(scratch / "out"),
        "--overwrite", "-q", "--json", str(report), "-n", str(chosen.ranks), "-p", str(_Q),
        "--implementation", implementation, "--costs", str(_COSTS),
        "--map-seconds", str(float(_COSTS.map) * unit), "--reduce-seconds", str(float(_COSTS.reduce) * unit),
        "--records", str(_RECORDS), "--link-rate", str(size / (float(_COSTS.shuffle) * unit)),
    ]  # fmt: skip
    command += [] if r is None else ["-r", str(r)]
    command += ["--helpers", "6"] if r == 0 else []
    subprocess.run(command, check=True)
    document = json.loads(report.read_text())
    assert document["plan"]["solvers"] + document["plan"]["helpers"] == chosen.ranks
    return float(chosen.total), document["measured"]["total_seconds"] / unit


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
