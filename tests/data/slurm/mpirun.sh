#!/bin/bash
# Run a coded-mr job under Slurm: edit the three lines below #SBATCH, then hand this file to `sbatch`.
# Options given to sbatch, such as --ntasks=9 or --partition=NAME, win over these:
#SBATCH --job-name=coded-mr
#SBATCH --ntasks=5
#SBATCH --cpus-per-task=1
#SBATCH --time=01:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.log

RUN=(job.py in)  # JOB INPUT... and options, as after `coded-mr run`
OUT=out  # the result, on a file system that all nodes share
PYTHON=python3  # a Python that has coded_mr, on all nodes

set -euo pipefail

# Ranks are the parallelism: a library that starts threads of its own would take the cores of others.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMEXPR_NUM_THREADS=1

# Slurm may start this script again under the same number: a finished job stays finished, and what an
# attempt left that was cut short goes.
job=slurm-$SLURM_JOB_ID
place=$(readlink -m -- "$OUT")
finished() { grep -qs "\"job_id\": \"$job-" "$place/_SUCCESS"; }
if finished; then
    echo "job $SLURM_JOB_ID has finished already: $OUT is complete"
    exit 0
fi
rm -rf -- "${place%/*}/.${place##*/}.coded-mr-$job-"*
export CODED_MR_JOB_ID=$job-${SLURM_RESTART_COUNT:-0}

# A private directory on the disk of each node, for temporary files.
scratch=${SLURM_TMPDIR:-/tmp}/coded-mr-$SLURM_JOB_ID
on_each_node() { srun --mpi=none --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 "$@"; }
on_each_node mkdir -p -m 700 -- "$scratch"
on_each_node test -O "$scratch"
trap 'on_each_node rm -rf -- "$scratch" || true' EXIT
export TMPDIR=$scratch

# The mpirun beside this Python, if it brought one, else that of a loaded module; or name one.
PATH=$(dirname -- "$(command -v -- "$PYTHON")"):$PATH
report=$SLURM_JOB_NAME-$SLURM_JOB_ID.json
"${CODED_MR_MPIRUN:-mpirun}" -n "$SLURM_NTASKS" "$PYTHON" -u -m coded_mr run --json "$report" "${RUN[@]}" -o "$OUT"

if ! finished; then
    echo "the launcher ended with status 0, but $OUT is not complete: a node may have died" >&2
    exit 1
fi
