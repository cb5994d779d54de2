"""Coded bytes of real TeraSort runs beside the formula: `python -m benchmarks.loads [RECORDS ...]`.

Every run is checked: sorted, complete, same checksum as its input.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

from coded_mr.terasort.generate import generate
from coded_mr.terasort.validate import validate
from coded_mr.theory.load import communication_load

_JOB = Path(__file__).parents[1] / "jobs" / "terasort.py"
_CASES = ((3, 1, 3), (3, 2, 2), (4, 2, 2), (4, 3, 2), (6, 2, 2))


def main(words: list[str]) -> int:
    """Print a row for each size and plan: measured over predicted coded bytes."""
    print("   input   Q  r  helpers   formula L   measured L   over   padding   headers")
    with tempfile.TemporaryDirectory() as scratch:
        for records in map(int, words or ["1000000", "10000"]):
            data = generate(Path(scratch) / f"data-{records}", records)
            for Q, r, helpers in _CASES:
                print(_row(Path(scratch), data.path, data.checksum, Q, r, helpers), flush=True)
    return 0


def _row(scratch: Path, data: str, checksum: str, Q: int, r: int, helpers: int) -> str:
    output, report = scratch / "out", scratch / "report.json"
    options = ["-p", str(Q), "-r", str(r), "--helpers", str(helpers), "--costs", "1,1,1"]
    command = [sys.executable, "-m", "coded_mr", "run", str(_JOB), data, "-o", str(output), *options]
    subprocess.run([*command, "--overwrite", "-q", "--json", str(report)], check=True)
    found = validate([output])
    assert found.sorted
    assert found.checksum == checksum
    measured = json.loads(report.read_text())["measured"]
    formula = communication_load(Q, Fraction(r))
    total = measured["intermediate_bytes"]
    assert total == found.bytes
    load, coded = measured["load"], measured["coded_bytes"]
    return (
        f"{total / 1e6:>5.0f} MB {Q:>3} {r:>2} {helpers:>8} {float(formula):>11.5f} {load:>12.5f} "
        f"{load / float(formula) - 1:>+6.2%} {measured['padding_bytes'] / coded:>9.3%} "
        f"{measured['header_bytes'] / coded:>9.4%}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
