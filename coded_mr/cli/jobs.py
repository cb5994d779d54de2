"""The words of a command that name a job: JOB and its parameters, or --mapper and its like instead."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from coded_mr.cli import Parser
from coded_mr.errors import UsageError
from coded_mr.jobfile import (
    JobClass,
    add_parameters,
    build_job,
    load_job,
    looks_like_job,
    parameters,
    source_file,
)
from coded_mr.streaming import StreamingJob

__all__ = ["COMMANDS_INSTEAD", "job_files", "read_options", "with_job"]

_STREAMING = "coded_mr.streaming"
_FLAGS = ("--mapper", "--reducer", "--combiner")

COMMANDS_INSTEAD = (
    "Instead of JOB, --mapper 'COMMAND' with --reducer and --combiner names commands that read lines and "
    "write key<TAB>value lines, as in Hadoop Streaming."
)


def with_job(words: Sequence[str]) -> list[str]:
    """Return the words with the job of commands in front, where --mapper and its like stand for JOB."""
    given = [word.partition("=")[0] for word in words]
    if any(flag in given for flag in _FLAGS) and _STREAMING not in given:
        return [_STREAMING, *words]
    return list(words)


def read_options(
    parser_of: Callable[[bool], Parser], arguments: Sequence[str]
) -> tuple[argparse.Namespace, JobClass]:
    """Parse options, those of the job among them: the job must be known first.

    parser_of gives the whole parser, or one (False) that requires JOB only and has no --help.
    """
    parser = parser_of(True)
    words = with_job(arguments)
    if not words or words[0] in ("-h", "--help"):
        parser.parse_args(words)
    first, _ = parser_of(False).parse_known_args(words)
    cls = load_job(first.job)
    taken = [parameter.name for parameter in parameters(cls) if parameter.flag in _FLAGS]
    if taken and not issubclass(cls, StreamingJob):
        raise UsageError(
            f"the parameter {taken[0]} of {cls.__name__} has the name of an option that stands for JOB: "
            "rename it in the job"
        )
    add_parameters(parser, cls)
    instead = words != list(arguments)
    if instead:
        _hide_job(parser)
    options = parser.parse_intermixed_args(words)
    if instead and looks_like_job(options.inputs[0]):
        raise UsageError(
            f"JOB and --mapper both name a job: leave out {options.inputs[0]} or --mapper; if that file is "
            "an input, name the directory that it is in"
        )
    # Once: loading runs the user's module.
    return options, cls if options.job == first.job else load_job(options.job)


def _hide_job(parser: Parser) -> None:
    """Leave JOB out of usage and help: the commands stand for it."""
    for action in parser._actions:
        if action.dest == "job":
            action.help = argparse.SUPPRESS


def job_files(words: Sequence[str]) -> list[Path]:
    """Load the job that JOB and its parameters name, and return the files that it needs on every host.

    Without parameters the job is only loaded, even if some are required.  Raises UsageError.
    """
    spec, *given = words
    cls = load_job(spec)
    source = source_file(spec)
    files = [] if source is None else [source]
    if given:
        parser = Parser(prog="coded-mr doctor", usage="coded-mr doctor JOB [parameters]", add_help=False)
        add_parameters(parser, cls)
        job = build_job(cls, parser.parse_args(given))
        files += job.scripts() if isinstance(job, StreamingJob) else []
    return files
