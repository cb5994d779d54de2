"""Run reports to show: real plans and decisions, counts made up."""

from __future__ import annotations

import json
from pathlib import Path

from coded_mr.engine.conservation import PartitionCount, RankCount
from coded_mr.engine.run_report import RunReport
from coded_mr.engine.timeline import Stage
from coded_mr.engine.traffic import Traffic
from coded_mr.plan import verify
from coded_mr.plan.planner import Request, decide
from coded_mr.theory.costs import Costs


def run_report(
    *,
    job: str = "words.py (Words)",
    output: str = "out",
    host: str = "node",
    scheme: str | None = None,
    implementation: str = "sequential",
) -> RunReport:
    """Return the report of a run on six ranks, of which the last is slow and the others wait."""
    request = Request(3, ranks=6, scheme=scheme, implementation=implementation)
    decision = decide(request, Costs.parse("1,2,1"))
    plan = decision.chosen.build()
    ranks = tuple(_count(rank, f"{host}{rank // 3}", used=rank < plan.ranks) for rank in range(6))
    return RunReport(
        job_id="0123456789abcdef",
        job=job,
        parameters={"shortest": 3},
        inputs=("texts",),
        output=output,
        plan=plan,
        verification=verify(plan),
        decision=decision,
        profile=None,
        measured_now=False,
        files=12,
        world=6,
        transport="groups",
        ranks=ranks,
    )


def _count(rank: int, host: str, *, used: bool) -> RankCount:
    if not used:
        return RankCount(rank, host)
    mapped = 1.0 + rank / 4
    stages = [
        Stage("map", 0.01, mapped),
        Stage("wait for maps", mapped, 2.3),
        Stage("shuffle", 2.3, 2.9),
        Stage("wait for packets", 2.9, 3.0),
        Stage("reduce", 3.0, 3.5),
    ]
    traffic = Traffic(
        sent_packets=1,
        sent_payload=1000,
        sent_header=27,
        sent_even=900.0,
        received=2054,
        encode_seconds=0.1,
        decode_seconds=0.05,
    )
    return RankCount(
        rank,
        host,
        files=4,
        bytes_in=4000 + rank,
        records=40,
        spoken_files=4 * (rank < 3),
        spoken_bytes_in=4000 * (rank < 3),
        spoken_records=40 * (rank < 3),
        mapped={0: PartitionCount(40, 3000)},
        records_out=7,
        traffic=traffic,
        stages=stages,
        peak_bytes=5000,
    )


def written(path: Path, **fields: str) -> Path:
    """Write such a report and return its path."""
    path.write_text(json.dumps(run_report(**fields).to_dict()))
    return path
