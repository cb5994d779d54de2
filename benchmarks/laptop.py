"""Word count and sort on one machine beside what people use there: `python -m benchmarks.laptop [MB]`.

On one machine nothing crosses a network, so coding cannot pay and the planner should map each file once.
Rivals: `Counter` in one process, `mpi4py.futures` on as many ranks, numpy sorting packed keys in one process.
Whole processes are timed, start-up included; the rounds take turns.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from coded_mr.launch import find_mpirun, laptop_settings
from coded_mr.terasort.generate import generate

_JOBS = Path(__file__).parents[1] / "jobs"
_RANKS = 3
_ROUNDS = 3

_COUNTER = """
import sys
from collections import Counter
total = Counter()
for path in sys.argv[2:]:
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            total.update(line.split())
with open(sys.argv[1], "w") as out:
    out.writelines(f"{word}\\t{count}\\n" for word, count in sorted(total.items()))
"""
_FUTURES = """
import sys
from collections import Counter
from mpi4py.futures import MPICommExecutor
def count(path):
    total = Counter()
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            total.update(line.split())
    return total
if __name__ == "__main__":
    with MPICommExecutor() as executor:
        if executor is not None:
            total = Counter()
            for part in executor.map(count, sys.argv[2:]):
                total.update(part)
            with open(sys.argv[1], "w") as out:
                out.writelines(f"{word}\\t{count}\\n" for word, count in sorted(total.items()))
"""
_SORT = """
import sys
import numpy as np
from coded_mr.terasort.sort import sort_records
sort_records(np.fromfile(sys.argv[2], dtype=np.uint8).reshape(-1, 100)).tofile(sys.argv[1])
"""


def main(words: list[str]) -> int:
    """Print the median seconds of each and its ratio to ours."""
    size = int(words[0]) if words else 100
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        texts = _texts(scratch / "texts", size * 1_000_000)
        data = generate(scratch / "data", size * 10_000).path
        ours = [sys.executable, "-m", "coded_mr", "run"]
        options = ["-n", str(_RANKS), "--overwrite", "-q", "-o"]
        mpirun = find_mpirun(os.environ)
        _compare(
            f"word count, {size} MB",
            {
                "coded-mr": [*ours, str(_JOBS / "wordcount.py"), *texts, *options, f"{name}/wc"],
                "Counter": [sys.executable, "-c", _COUNTER, f"{name}/counter", *texts],
                "mpi4py.futures": [
                    mpirun.path, "-n", str(_RANKS), sys.executable, "-c", _FUTURES, f"{name}/futures", *texts
                ],
            },
        )  # fmt: skip
        counted = sorted(
            line for part in (scratch / "wc").glob("part-*") for line in part.read_text().splitlines()
        )
        assert counted == sorted((scratch / "counter").read_text().splitlines())
        assert counted == sorted((scratch / "futures").read_text().splitlines())
        _compare(
            f"sort, {size} MB",
            {
                "coded-mr": [*ours, str(_JOBS / "terasort.py"), data, *options, f"{name}/ts"],
                "numpy": [sys.executable, "-c", _SORT, f"{name}/sorted", data],
            },
        )
    return 0


def _texts(folder: Path, size: int) -> list[str]:
    """Write real text, the sources of the standard library over and over, into six files."""
    folder.mkdir()
    sources = sorted(Path(sysconfig.get_path("stdlib")).glob("*/*.py")) * 100
    paths = [folder / f"{number}.txt" for number in range(6)]
    position = 0
    for path in paths:
        with path.open("wb") as file:
            while file.tell() < size // len(paths):
                file.write(sources[position].read_bytes())
                position += 1
    return list(map(str, paths))


def _compare(title: str, commands: dict[str, Sequence[str]]) -> None:
    environment = dict(os.environ)
    environment |= laptop_settings(
        environment, ranks=_RANKS, cpus=1, uid=os.getuid(), allocation=False,
        flavour=find_mpirun(os.environ).flavour,
    )  # fmt: skip
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(_ROUNDS):
        for name, command in commands.items():
            started = time.perf_counter()
            subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
            seconds[name].append(time.perf_counter() - started)
    print(title)
    for name, taken in seconds.items():
        ratio = median(taken) / median(seconds["coded-mr"])
        print(f"  {name:16} {median(taken):6.2f} s, {ratio:.2f} times ours", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
