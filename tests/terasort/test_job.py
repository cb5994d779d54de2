"""Check the TeraSort job's methods against one sort of all records."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from coded_mr.terasort.kinds import KINDS, make_records
from coded_mr.terasort.sort import sort_records

JOB = Path(__file__).parents[2] / "jobs" / "terasort.py"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [0, 1, 5_000])
def test_partitions_in_a_row_are_the_sorted_input(kind: str, count: int) -> None:
    partitions = 5
    records = make_records(kind, 0, count)
    job = runpy.run_path(str(JOB))["TeraSort"]()
    job.prepared = job.prepare(records[::3], partitions)
    files = np.array_split(records, 4)
    mapped = [(part, job.partition(part, partitions)) for part in map(job.map, files)]
    reduced = [
        job.reduce(np.concatenate([part[where == partition] for part, where in mapped]))
        for partition in range(partitions)
    ]
    assert (np.concatenate(reduced) == sort_records(records))[:, :10].all()
    assert sorted(map(bytes, np.concatenate(reduced))) == sorted(map(bytes, records))
