"""Is the planner's choice the fastest? `python -m benchmarks.choice [MB]`.

Compares every scheme and load of two real jobs on 6 ranks of this machine, without a limit and over an
emulated shared link, in alternation; prints how much slower than the fastest the planner's own choice was,
and the same beside the plan that was the fastest in the other rounds, which luck does not favour.
"""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import tempfile
from fractions import Fraction
from pathlib import Path

from coded_mr.terasort.generate import generate

_JOBS = Path(__file__).parents[1] / "jobs"
_RANKS = "6"
_PARTITIONS = "4"
_TEXT_LINK = 3e6  # bytes a second, slower than words come out of the map


def main(words: list[str]) -> int:
    """Print a row for each job, network and implementation."""
    size = int(words[0]) if words else 200
    print("job         network      implementation  choice                            slower  held out")
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        data = generate(scratch / "data", size * 10_000).path
        texts = [f"{sysconfig.get_path('purelib')}/num*/**/*.py"]
        for job, inputs, link in (("terasort", [data], size * 1e6 / 4), ("wordcount", texts, _TEXT_LINK)):
            for rate in (None, link):
                for implementation in ("sequential", "parallel"):
                    print(_row(scratch, job, inputs, rate, implementation), flush=True)
    return 0


def _row(scratch: Path, job: str, inputs: list[str], rate: float | None, implementation: str) -> str:
    report = scratch / "comparison.json"
    command = [sys.executable, "-m", "coded_mr", "compare", str(_JOBS / f"{job}.py"), *inputs, "-q"]
    command += ["-n", _RANKS, "-p", _PARTITIONS, "--rounds", "5", "--json", str(report)]
    command += ["--implementation", implementation, "--scratch", str(scratch)]
    command += [] if rate is None else ["--link-rate", str(rate)]
    subprocess.run(command, check=True)
    found = json.loads(report.read_text())
    plan = found["plans"][found["planner"]]
    choice = f"{plan['scheme']} r={float(Fraction(plan['r'])):.3g} ({plan['solvers']}+{plan['helpers']})"
    network = "unlimited" if rate is None else f"{rate / 1e6:.0f} MB/s"
    return (
        f"{job:11} {network:12} {implementation:15} {choice:32} {found['planner_excess']:7.1%} "
        f"{found['planner_excess_held_out']:+9.1%}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
