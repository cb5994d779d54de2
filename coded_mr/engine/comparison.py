"""Several plans of one job on the same ranks, taking turns, so that what disturbs one disturbs all."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from coded_mr.engine.comparison_report import Comparison, Entry, Times, short
from coded_mr.engine.memory import give_back
from coded_mr.engine.run_report import RunReport
from coded_mr.errors import ConservationError, PlanError
from coded_mr.io.output import OutputDirectory, PartFile
from coded_mr.plan.bound import lower_bound
from coded_mr.plan.candidate import Candidate
from coded_mr.plan.machine import Machine
from coded_mr.plan.model import Plan
from coded_mr.plan.offers import Scheme
from coded_mr.plan.planner import Decision, Request, decide
from coded_mr.text import counted

if TYPE_CHECKING:
    from mpi4py import MPI

    from coded_mr.engine.runner import Order, Session

__all__ = ["OWN_LOADS", "Lineup", "Question", "Wish", "check_same", "compare", "line_up", "times_of"]

_LOG = logging.getLogger("coded_mr")

# These schemes have computation loads of their own, which come with the ranks and the costs.
OWN_LOADS: tuple[Scheme, ...] = ("uncoded", "mixture")


class Wish(NamedTuple):
    """Name a scheme to compare; `s` is 1 but for cascaded."""

    scheme: Scheme
    s: int = 1

    def __str__(self) -> str:
        """Return the scheme as users write it."""
        return self.scheme if self.s == 1 else f"{self.scheme}:{self.s}"


@dataclass(frozen=True)
class Question:
    """Hold what to compare: every scheme with every computation load (None: 0 to Q), so many times."""

    wishes: tuple[Wish, ...]
    loads: tuple[int, ...] | None = None
    rounds: int = 3


@dataclass(frozen=True)
class Lineup:
    """Hold the plans that take turns, each once; `choice` is the planner's own, by index.

    `impossible` names what the ranks do not allow, `same` what is another plan under a second name.
    """

    decisions: tuple[Decision, ...]
    choice: int
    impossible: tuple[str, ...]
    same: tuple[str, ...]


def line_up(request: Request, machines: Sequence[Machine], question: Question) -> Lineup:
    """Decide which plans take part: those asked for, as `run` would make them, and the planner's choice.

    `request` names the ranks and leaves scheme and load open. Raises PlanError when nothing that was asked
    for is possible.
    """
    found: list[Decision] = []
    plans: dict[Plan, int] = {}
    impossible: list[str] = []
    same: list[str] = []
    # Plans that are the same go by the first name, and plain uncoded is what all others are compared with.
    for wish in sorted(question.wishes, key=lambda wish: wish.scheme != "uncoded"):
        missing = []
        for r in _loads(wish, request, question):
            decision = _decide(request, machines, wish, r)
            if decision is None:
                missing.append(r)
                continue
            twin = _enter(decision, found, plans)
            if twin is not None and twin != decision.chosen:
                same.append(f"{_label(decision.chosen)} is {_label(twin)}")
        if missing:
            numbers = ", ".join(str(r) for r in missing if r is not None)
            impossible.append(f"{wish} r={numbers}" if numbers else str(wish))
    if not found:
        raise PlanError(
            f"nothing to compare: {counted(request.ranks or 0, 'rank')} and "
            f"{counted(request.partitions, 'partition')} allow none of {'; '.join(impossible)}; ask for "
            f"other --schemes or --r, or for more ranks"
        )
    own = decide(dataclasses.replace(request, helpers=None), machines)
    _enter(own, found, plans)
    choice = plans[_nameless(own)]
    return Lineup(tuple(found), choice, tuple(impossible), tuple(same))


def _loads(wish: Wish, request: Request, question: Question) -> Sequence[int | None]:
    """Return the computation loads of a scheme; None is the planner's choice among its own.

    Uncoded takes part twice: with one rank a file, as everybody else does it, and as the planner likes it.
    """
    if wish.scheme in OWN_LOADS:
        return (1, None) if wish.scheme == "uncoded" else (None,)
    return range(request.partitions + 1) if question.loads is None else question.loads


def _decide(request: Request, machines: Sequence[Machine], wish: Wish, r: int | None) -> Decision | None:
    """Return the decision for a scheme with exactly this load; None when there is none."""
    if r is not None and r > request.partitions:
        return None
    try:
        decision = decide(dataclasses.replace(request, scheme=wish.scheme, s=wish.s, r=r), machines)
    except PlanError:
        return None
    return decision if r is None or decision.chosen.r == r else None


def _enter(decision: Decision, found: list[Decision], plans: dict[Plan, int]) -> Candidate | None:
    """Add a decision unless its plan is there; return the candidate that is the same plan, if any."""
    plan = _nameless(decision)
    if plan in plans:
        return found[plans[plan]].chosen
    plans[plan] = len(found)
    # The others that were considered are many, and travel to every rank with the decision.
    found.append(dataclasses.replace(decision, considered=(decision.chosen,)))
    return None


def _label(chosen: Candidate) -> str:
    """Return what people call a plan, as `Entry.label` does."""
    s = f" s={chosen.team.s}" if chosen.team.s > 1 else ""
    return f"{chosen.scheme}{s} r={short(chosen.r)} ({chosen.solvers}+{chosen.helpers})"


def _nameless(decision: Decision) -> Plan:
    return dataclasses.replace(decision.chosen.build(), scheme="")


def compare(world: MPI.Intracomm, order: Order, question: Question) -> Comparison | None:
    """Carry out the plans round by round and return their numbers on rank 0; collective.

    Nothing stays of the outputs, which must all be the same. What goes wrong is raised on the rank where it
    happens, and only there, as by `run_order`. Raises PlanError when no plan asked for is possible, and
    ConservationError when two plans give different outputs.
    """
    from coded_mr.engine.runner import Session
    from coded_mr.engine.waiting import broadcast

    # Temporary directories differ between hosts; that of rank 0 counts.
    path = broadcast(world, lambda: order.output)
    output = OutputDirectory(path, order.job_id, overwrite=False)
    try:
        with Session(world, order) as session:
            machines = session.machines()
            request = dataclasses.replace(order.request, ranks=world.size)
            lineup = broadcast(world, lambda: line_up(request, machines, question))
            entries = _take_turns(session, lineup, output, question.rounds)
            session.synchronise()
    except BaseException:
        output.abandon()
        raise
    if world.rank:
        return None
    return Comparison(
        job=order.job_name,
        partitions=request.partitions,
        ranks=world.size,
        implementation=request.implementation,
        costs=machines[0].costs,
        entries=entries,
        choice=lineup.choice,
        impossible=lineup.impossible,
        same=lineup.same,
    )


def _take_turns(session: Session, lineup: Lineup, output: OutputDirectory, rounds: int) -> tuple[Entry, ...]:
    """Carry out all plans, all again, ...; return their numbers on rank 0, nothing elsewhere."""
    entries: dict[int, Entry] = {}
    parts: list[PartFile] = []
    for number in range(rounds):
        for index, decision in enumerate(lineup.decisions):
            _LOG.info("round %d of %d: %s", number + 1, rounds, _label(decision.chosen))
            # As a run would: without the memory that the plan before has left warm.
            give_back()
            report = session.execute(decision, output)
            if report is None:
                continue
            output.abandon()
            written = _parts(report)
            if not entries:
                parts = written
            check_same(_label(lineup.decisions[0].chosen), parts, _label(decision.chosen), written)
            entry = entries.get(index) or _entry(decision, report)
            times = (*entry.measured, times_of(report))
            entries[index] = dataclasses.replace(entry, measured=times)
    return tuple(entries[index] for index in sorted(entries))


def _parts(report: RunReport) -> list[PartFile]:
    found = [part for count in report.ranks for part in count.parts.values()]
    return sorted(found, key=lambda part: part.name)


def check_same(first: str, expected: Sequence[PartFile], second: str, written: Sequence[PartFile]) -> None:
    """Compare the parts that two plans wrote; raises ConservationError that names both plans."""
    if list(expected) == list(written):
        return
    differing = sorted({part.name for part in set(expected) ^ set(written)})
    raise ConservationError(
        f"two plans gave different results: {first} and {second} differ in {', '.join(differing[:5])}. The "
        f"job's output depends on how the input is divided or on the order of values, so that no comparison "
        f"means anything: make combine and reduce give the same for any order and grouping of the values"
    )


def _entry(decision: Decision, report: RunReport) -> Entry:
    """Return a plan's numbers without any measured time."""
    chosen = decision.chosen
    predicted = (chosen.t_map, chosen.t_shuffle, chosen.t_reduce, chosen.total)
    return Entry(
        scheme=chosen.scheme,
        s=chosen.team.s,
        r=chosen.r,
        solvers=chosen.solvers,
        helpers=chosen.helpers,
        packets=len(report.plan.packets),
        groups=len(report.plan.groups),
        load=report.verification.load,
        bound=lower_bound(report.plan),
        predicted=Times(*map(float, predicted)),
        measured=(),
        coded_bytes=report.coded_bytes,
        padding_bytes=report.padding_bytes,
        header_bytes=report.header_bytes,
        wire_bytes=report.delivered_bytes,
        intermediate_bytes=report.intermediate_bytes,
        transport=report.transport,
        interface_bytes=report.interface_bytes,
    )


def times_of(report: RunReport) -> Times:
    """Return the measured times: of each stage the slowest rank's, and the wall time of everything.

    Every rank has its own clock, but all begin to map when they leave one barrier: the wall time is the
    longest from a rank's first map to its last reduce.
    """
    spans = [
        max(stage.stop for stage in count.stages if stage.name == "reduce")
        - min(stage.start for stage in count.stages if stage.name == "map")
        for count in report.ranks
        if count.stages
    ]
    return Times(report.slowest("map"), report.slowest("shuffle"), report.slowest("reduce"), max(spans))
