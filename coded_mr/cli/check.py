"""`coded-mr check`: try a job on a sample of its input, in one process, where a debugger works."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from coded_mr.cli import Parser
from coded_mr.cli.jobs import COMMANDS_INSTEAD, read_options
from coded_mr.doctor import Finding, failed, listing
from coded_mr.doctor.job_checks import answer, changes, combines, elsewhere, emits, repeats
from coded_mr.doctor.rehearsal import Rehearsal, sample
from coded_mr.errors import UsageError
from coded_mr.job import RecordJob
from coded_mr.jobfile import build_job
from coded_mr.text import bytes_text, counted

__all__ = ["main"]

_SAMPLE_BYTES = 8 << 20
_SHOWN_LINES = 10
_SHOWN_CHARACTERS = 100


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status: 1 when the job must not run as it is."""
    options, cls = read_options(lambda whole: _parser(whole=whole), arguments)
    if options.bytes < 1 or options.partitions < 1:
        raise UsageError("--bytes and --partitions must be at least 1")
    job = build_job(cls, options)
    rehearsal = Rehearsal(job, sample(job, options.inputs, options.bytes), options.partitions)
    if options.answer is not None:
        answer(rehearsal, Path(options.answer))
        return 0
    rehearsal.run()
    findings = _findings(rehearsal, arguments)
    print(_summary(rehearsal))
    print(listing(findings))
    print(_output(rehearsal))
    sys.stdout.flush()
    return int(failed(findings))


def _parser(*, whole: bool) -> Parser:
    parser = Parser(
        prog="coded-mr check",
        description="Run a job on a sample of its input in one process, on its main thread: breakpoint() in "
        "map or reduce opens a debugger. Checks that map is deterministic and that combine agrees with "
        f"reduce, and shows the time of each stage and the first lines of output. {COMMANDS_INSTEAD}",
        epilog="A job's own parameters are options too, after JOB.",
        add_help=whole,
        allow_abbrev=False,
    )
    parser.add_argument("job", metavar="JOB", help="a file with a job class: file.py or file.py:Class")
    parser.add_argument(
        "inputs", nargs="+" if whole else "*", metavar="INPUT", help="files, directories and glob patterns"
    )
    parser.add_argument(
        "--bytes", type=int, default=_SAMPLE_BYTES, metavar="N", help=f"size of the sample ({_SAMPLE_BYTES})"
    )
    parser.add_argument(
        "-p", "--partitions", type=int, default=3, metavar="Q", help="partitions of the output (3)"
    )
    parser.add_argument("--answer", help=argparse.SUPPRESS)
    return parser


def _findings(rehearsal: Rehearsal, arguments: Sequence[str]) -> list[Finding]:
    findings = [emits(rehearsal), repeats(rehearsal)]
    if not failed(findings):
        findings.append(elsewhere(rehearsal, ["check", *arguments]))
    combined = combines(rehearsal)
    changed = changes(rehearsal)
    if changed is not None:
        return [changed]
    return findings if combined is None else [*findings, combined]


def _summary(rehearsal: Rehearsal) -> str:
    weight = bytes_text(sum(file.weight for file in rehearsal.files))
    seconds = ", ".join(f"{stage} {took:.3f}" for stage, took in rehearsal.seconds.items())
    return f"sample   {counted(len(rehearsal.files), 'file')}, {weight}\nseconds  {seconds}"


def _output(rehearsal: Rehearsal) -> str:
    """Return how much came out, and its beginning."""
    job, whole = rehearsal.job, b"".join(rehearsal.parts)
    if isinstance(job, RecordJob):
        size = job.out_bytes or job.record_bytes
        unit, first = "record", [whole[at : at + size] for at in range(0, _SHOWN_LINES * size, size)]
        shown = [repr(record)[:_SHOWN_CHARACTERS] for record in first if record]
    else:
        unit, lines = "line", whole.split(b"\n", _SHOWN_LINES)[:-1]
        shown = [line.decode(errors="replace")[:_SHOWN_CHARACTERS] for line in lines]
    head = f"output   {counted(rehearsal.records_out, unit)}, {bytes_text(len(whole))}"
    return "\n".join([f"{head}; the first:" if shown else head, *(f"  {line}" for line in shown)])
