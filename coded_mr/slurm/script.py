"""Build the batch script that runs a job under Slurm: a pure function from settings to text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from string import Template
from typing import Literal

from coded_mr.errors import UsageError

__all__ = ["Batch", "Launcher", "build_script"]

Launcher = Literal["mpirun", "srun"]

# What Slurm takes for a time: [DAYS-]HOURS[:MINUTES[:SECONDS]] or MINUTES[:SECONDS] or "UNLIMITED".
_TIME = re.compile(r"\d+-\d+(:\d+){0,2}|\d+(:\d+){0,2}|UNLIMITED")
_WORD = re.compile(r"[A-Za-z0-9_.,@+-]+")
# A batch script holds the user's three lines, what Slurm is asked for, and this.
_HEAD = Template("""\
#!/bin/bash
# Run a coded-mr job under Slurm: edit the three lines below #SBATCH, then hand this file to `sbatch`.
# Options given to sbatch, such as --ntasks=9 or --partition=NAME, win over these:
$directives

RUN=($run)  # JOB INPUT... and options, as after `coded-mr run`
OUT=$output  # the result, on a file system that all nodes share
PYTHON=$python  # a Python that has coded_mr, on all nodes

set -euo pipefail

# Ranks are the parallelism: a library that starts threads of its own would take the cores of others.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMEXPR_NUM_THREADS=1

# Slurm may start this script again under the same number: a finished job stays finished, and what an
# attempt left that was cut short goes.
job=slurm-$$SLURM_JOB_ID
place=$$(readlink -m -- "$$OUT")
finished() { grep -qs "\\"job_id\\": \\"$$job-" "$$place/_SUCCESS"; }
if finished; then
    echo "job $$SLURM_JOB_ID has finished already: $$OUT is complete"
    exit 0
fi
rm -rf -- "$${place%/*}/.$${place##*/}.coded-mr-$$job-"*
export CODED_MR_JOB_ID=$$job-$${SLURM_RESTART_COUNT:-0}

# A private directory on the disk of each node, for temporary files.
scratch=$${SLURM_TMPDIR:-/tmp}/coded-mr-$$SLURM_JOB_ID
on_each_node() { srun --mpi=none --ntasks="$$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 "$$@"; }
on_each_node mkdir -p -m 700 -- "$$scratch"
on_each_node test -O "$$scratch"
trap 'on_each_node rm -rf -- "$$scratch" || true' EXIT
export TMPDIR=$$scratch
""")
_COMMAND = """"$PYTHON" -u -m coded_mr run --json "$report" "${RUN[@]}" -o "$OUT"
"""
_MPIRUN = f"""\
# The mpirun beside this Python, if it brought one, else that of a loaded module; or name one.
PATH=$(dirname -- "$(command -v -- "$PYTHON")"):$PATH
report=$SLURM_JOB_NAME-$SLURM_JOB_ID.json
"${{CODED_MR_MPIRUN:-mpirun}}" -n "$SLURM_NTASKS" {_COMMAND}"""
_SRUN = Template(f"""\
report=$$SLURM_JOB_NAME-$$SLURM_JOB_ID.json
srun --mpi=$mpi --kill-on-bad-exit=1 --ntasks="$$SLURM_NTASKS" --cpus-per-task=1 \\
    {_COMMAND.replace("$", "$$")}""")
_TAIL = """\

if ! finished; then
    echo "the launcher ended with status 0, but $OUT is not complete: a node may have died" >&2
    exit 1
fi
"""


@dataclass(frozen=True)
class Batch:
    """Hold what a batch script is made from.

    run: the words after `coded-mr run`, without -o.  output: OUT.  python: path or name of the Python.
    ranks >= 1.  time: as Slurm writes it.  nodes None: as many as Slurm likes.  mpi: the plugin that srun
    uses, "pmix" for Open MPI, "pmi2" for MPICH.  name, partition and account: one word each.
    Raises UsageError for a value that Slurm would misread.
    """

    run: tuple[str, ...]
    output: str
    python: str
    ranks: int
    launcher: Launcher = "mpirun"
    mpi: str = "pmix"
    name: str = "coded-mr"
    time: str = "01:00:00"
    nodes: int | None = None
    partition: str | None = None
    account: str | None = None

    def __post_init__(self) -> None:
        """Refuse what would end up as another option or another line."""
        for option, value in (
            ("--mpi", self.mpi),
            ("--job-name", self.name),
            ("--partition", self.partition),
            ("--account", self.account),
        ):
            if value is not None and not _WORD.fullmatch(value):
                raise UsageError(f"{option} {value!r}: use one word of letters, digits and . , _ @ + -")
        if not _TIME.fullmatch(self.time):
            raise UsageError(
                f"--time {self.time!r} is no time limit of Slurm: write minutes, hours:minutes:seconds or "
                "days-hours:minutes:seconds"
            )
        if self.nodes is not None and not 1 <= self.nodes <= self.ranks:
            raise UsageError(f"--nodes {self.nodes}: {self.ranks} ranks need 1 to {self.ranks} nodes")


def build_script(batch: Batch) -> str:
    """Return the batch script, newline at the end; equal settings give equal text."""
    head = _HEAD.substitute(
        directives="\n".join(f"#SBATCH {directive}" for directive in _directives(batch)),
        run=shlex.join(batch.run),
        output=shlex.quote(batch.output),
        python=shlex.quote(batch.python),
    )
    launch = _MPIRUN if batch.launcher == "mpirun" else _SRUN.substitute(mpi=batch.mpi)
    return f"{head}\n{launch}{_TAIL}"


def _directives(batch: Batch) -> Iterator[str]:
    yield f"--job-name={batch.name}"
    yield f"--ntasks={batch.ranks}"
    if batch.nodes is not None:
        yield f"--nodes={batch.nodes}"
        yield f"--ntasks-per-node={-(-batch.ranks // batch.nodes)}"
    yield "--cpus-per-task=1"
    yield f"--time={batch.time}"
    if batch.partition is not None:
        yield f"--partition={batch.partition}"
    if batch.account is not None:
        yield f"--account={batch.account}"
    yield "--requeue"
    yield "--open-mode=append"
    yield "--output=%x-%j.log"
