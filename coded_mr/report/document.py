"""A run report as it is read back from the JSON of `run --json`; docs/run-report.md explains the fields."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import msgspec

from coded_mr.errors import InputError

__all__ = ["FORMAT", "Candidate", "Measured", "Predicted", "Rank", "Run", "Spread", "Stage", "load"]

FORMAT = "coded-mr-run/1"

Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 60)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e15)]
Exact = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,1000}(/[1-9][0-9]{0,1000})?$")]


class PlanNumbers(msgspec.Struct, frozen=True):
    """Hold the plan that was carried out."""

    scheme: str
    partitions: Count
    solvers: Count
    helpers: Count
    spares: Count
    r: Exact
    batches: Count
    packets: Count
    groups: Count
    reasons: list[str]
    r_star: Exact
    k_star: int | None


class Predicted(msgspec.Struct, frozen=True):
    """Hold what the planner expected; loads are fractions of all intermediate values."""

    load: Exact
    bound: Exact
    total_seconds: Seconds
    map_seconds: Seconds
    shuffle_seconds: Seconds
    reduce_seconds: Seconds


class Measured(msgspec.Struct, frozen=True):
    """Hold what was measured over all ranks."""

    load: Seconds
    total_seconds: Seconds
    map_seconds: Seconds
    shuffle_seconds: Seconds
    reduce_seconds: Seconds
    exposed_seconds: Seconds
    coded_bytes: Count
    header_bytes: Count
    padding_bytes: Annotated[int, msgspec.Meta(ge=-(1 << 60), le=1 << 60)]
    wire_bytes: Count
    intermediate_bytes: Count


class Counts(msgspec.Struct, frozen=True):
    """Hold what went in, was shuffled and came out."""

    files: Count
    bytes_in: Count
    records_mapped: Count
    pairs_shuffled: Count
    groups_reduced: Count
    records_out: Count
    bytes_out: Count


class Candidate(msgspec.Struct, frozen=True):
    """Hold one plan that the planner considered, with its predicted times."""

    scheme: str
    solvers: Count
    helpers: Count
    r: Exact
    load: Exact
    packets: Count
    map_seconds: Seconds
    shuffle_seconds: Seconds
    reduce_seconds: Seconds
    total_seconds: Seconds
    chosen: bool


class Spread(msgspec.Struct, frozen=True):
    """Hold how one measure spreads over the ranks that take part in it."""

    least: float
    median: float
    mean: float
    most: float
    imbalance: float
    histogram: Annotated[list[Count], msgspec.Meta(min_length=1, max_length=100)]


class Stage(msgspec.Struct, frozen=True):
    """Hold a stage of one rank, in seconds since its work began."""

    name: str
    start: Seconds
    stop: Seconds


class Traffic(msgspec.Struct, frozen=True):
    """Hold what one rank sent and received."""

    sent_packets: Count
    sent_payload: Count
    sent_header: Count
    received_packets: Count
    received: Count
    encode_seconds: Seconds
    decode_seconds: Seconds


class Rank(msgspec.Struct, frozen=True):
    """Hold what one rank did."""

    rank: Count
    host: str
    role: str
    files: Count
    bytes_in: Count
    records_mapped: Count
    records_out: Count
    peak_bytes: Count
    traffic: Traffic
    stages: list[Stage]

    def seconds(self, stage: str) -> float:
        """Return the time in the stages of that name."""
        return sum(part.stop - part.start for part in self.stages if part.name == stage)


class Run(msgspec.Struct, frozen=True):
    """Hold what the page and the comparison show of a run."""

    job_id: str
    job: str
    output: str
    implementation: str
    plan: PlanNumbers
    costs: dict[str, float]
    predicted: Predicted
    measured: Measured
    counts: Counts
    considered: Count
    candidates: list[Candidate]
    spreads: dict[str, Spread]
    versions: dict[str, str]
    hosts: dict[str, list[Count]]
    ranks: Annotated[list[Rank], msgspec.Meta(min_length=1)]
    transport: str = "groups"
    parameters: dict[str, str | float | bool | None] = {}
    inputs: list[str] = []
    seeds: dict[str, str] = {}

    @property
    def excess(self) -> float | None:
        """Return the measured load over the bound of Lemma 1, None when the bound is 0."""
        bound = Fraction(self.predicted.bound)
        return self.measured.load / float(bound) if bound else None


def load(path: str) -> Run:
    """Read a run report.  Raises InputError when the file is missing or is none."""
    remedy = "`coded-mr run ... --json FILE` writes one"
    try:
        # The parser of Python, unlike that of msgspec, takes names of files that are no text.
        document = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise InputError(f"cannot read the run report {path}: {error.strerror}; {remedy}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a run report ({error}); {remedy}") from error
    form = document.get("format") if isinstance(document, dict) else None
    if form != FORMAT:
        raise InputError(f"{path} is not a run report: its format is {form!r}, not {FORMAT!r}; {remedy}")
    try:
        return msgspec.convert(document, Run)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InputError(
            f"the run report {path} is damaged, or of another version ({error}); {remedy}"
        ) from error
