"""The command line: measure what is missing, then write the table and the picture."""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from benchmarks.cluster import ClusterError, lacking
from benchmarks.network import inputs
from benchmarks.network.emulation import carry_out
from benchmarks.network.picture import draw
from benchmarks.network.records import Run, forget, load
from benchmarks.network.settings import SETTINGS, Rival, Setting, quick
from benchmarks.network.table import document
from benchmarks.network.task import Task
from coded_mr.errors import CodedMRError, UsageError

_RESULTS = Path(__file__).parents[1] / "results"
_ROUNDS = 3
# A setting takes some seconds before its first run: with less time left it is not begun.
_LEAST_SECONDS = 30.0


def main(words: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options = _parser().parse_args(words)
    # So that the cluster goes, however this ends.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with tempfile.TemporaryDirectory(prefix="coded-mr-network-") as scratch:
            return _work(options, Path(scratch))
    except CodedMRError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    names = ", ".join(setting.name for setting in SETTINGS)
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.network",
        description="Measure coded and uncoded shuffles on emulated networks. What is measured already is "
        "kept and not measured again: the command may be interrupted, and run setting by setting.",
    )
    parser.add_argument(
        "--only", type=_settings, default=SETTINGS, metavar="NAME,...", help=f"of {names} (default: all)"
    )
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help="of each rival (default: %(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), metavar="S", help="begin no run after so many seconds"
    )
    parser.add_argument("--merge", action="store_true", help="measure nothing: table and picture only")
    parser.add_argument("--fresh", action="store_true", help="measure these settings again")
    parser.add_argument(
        "--quick", action="store_true", help="a smoke test: small inputs, one round, nothing kept without -o"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help=f"for the results (default: {_RESULTS})"
    )
    return parser


def _settings(text: str) -> tuple[Setting, ...]:
    known = {setting.name: setting for setting in SETTINGS}
    unknown = sorted(set(text.split(",")) - set(known))
    if unknown:
        raise argparse.ArgumentTypeError(
            f"there is no setting {', '.join(unknown)}; there are {', '.join(known)}"
        )
    return tuple(setting for setting in SETTINGS if setting.name in text.split(","))


def _work(options: argparse.Namespace, scratch: Path) -> int:
    settings = tuple(map(quick, options.only)) if options.quick else options.only
    rounds = 1 if options.quick else options.rounds
    results: Path = options.output or (scratch / "results" if options.quick else _RESULTS)
    if find_spec("matplotlib") is None:
        raise UsageError("the picture needs matplotlib: pip install 'coded_mr[report]'")
    results.mkdir(parents=True, exist_ok=True)
    records = results / "network.jsonl"
    if options.fresh:
        forget(records, [setting.title for setting in settings])
    left = 0 if options.merge else _measure(settings, rounds, records, scratch, time.time() + options.seconds)
    shown = settings if options.quick else SETTINGS
    found = load(records)
    if not found:
        raise UsageError(f"nothing is measured in {records}: leave --merge out, or give more --seconds")
    text = document(shown, found, _machine())
    (results / "network.md").write_text(text, encoding="utf-8")
    draw(shown, found, results / "network.svg")
    if options.quick:
        print(text)
    print(f"wrote network.md and network.svg to {results}" + (f"; {left} runs are left" if left else ""))
    return 0


def _measure(settings: Sequence[Setting], rounds: int, records: Path, scratch: Path, deadline: float) -> int:
    """Carry out what is missing until the deadline; return how many runs are left."""
    missing = {setting: due(setting, rounds, records) for setting in settings}
    if any(missing.values()):
        reason = lacking(bus=any(setting.network == "bus" for setting in settings))
        if reason is not None:
            raise ClusterError(f"no cluster can be emulated here: {reason}")
    for setting, runs in missing.items():
        if not runs or time.time() > deadline - _LEAST_SECONDS:
            continue
        print(f"{setting.name}: {setting.title}, {len(runs)} runs", flush=True)
        made = inputs.make(setting.job, setting.size, scratch)
        carry_out(Task(setting, runs, made.paths, made.expected, str(scratch), str(records), deadline))
    return sum(len(due(setting, rounds, records)) for setting in settings)


def due(setting: Setting, rounds: int, records: Path) -> tuple[tuple[int, Rival], ...]:
    """Return the runs of a setting that are not measured yet, round by round."""
    done = {
        (run.rival, run.round)
        for run in load(records)
        if isinstance(run, Run) and run.setting == setting.title
    }
    return tuple(
        (number, rival)
        for number in range(1, rounds + 1)
        for rival in setting.rivals
        if (rival.name, number) not in done
    )


def _machine() -> str:
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores, Linux {platform.release()}, Python {platform.python_version()}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
