"""`coded-mr plan`: the optimum of the theory, a table over r, and the plan for the ranks at hand."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coded_mr.cli import Parser
from coded_mr.cli.options import (
    add_planning,
    add_topology,
    check_json,
    check_topology,
    costs_of,
    request_of,
    write_json,
)
from coded_mr.errors import OutputError, UsageError
from coded_mr.plan.bound import lower_bound
from coded_mr.plan.candidate import Candidate
from coded_mr.plan.machine import Machine
from coded_mr.plan.model import Plan
from coded_mr.plan.planner import Decision, decide
from coded_mr.plan.verify import verify
from coded_mr.text import counted, fraction_text
from coded_mr.theory.allocation import (
    Allocation,
    Row,
    Uncoded,
    parallel,
    rows,
    sequential,
    uncoded_parallel,
    uncoded_sequential,
)
from coded_mr.theory.costs import Costs

if TYPE_CHECKING:
    from coded_mr.topology import Placement

__all__ = ["main"]

# A longer table is cut to this many rows around the optimum.
_ROWS = 25


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    parser = Parser(prog="coded-mr plan", description="Show the optimal use of servers for given costs.")
    add_planning(parser)
    add_topology(parser)
    parser.add_argument("--save", metavar="FILE", help="write the plan itself to FILE, for `verify`")
    parser.add_argument(
        "--json", metavar="FILE", help="write one JSON object to FILE, or to standard output: -"
    )
    options = parser.parse_args(list(arguments))
    machines = _machines(options)
    if options.partitions is None or not machines:
        raise UsageError("plan needs -p Q and --costs cm,cs,cr, such as `coded-mr plan -p 3 --costs 1,2,1`")
    check_json(options.json)
    check_topology(options.topology)
    asked = (options.ranks, options.load, options.helpers, options.scheme, options.profile, options.topology)
    decision = None
    if any(value is not None for value in asked):
        decision = decide(request_of(options, partitions=1, ranks=options.ranks), machines)
    else:
        request_of(options, partitions=1, ranks=None)
    optimum, uncoded = _optimum(options.partitions, machines[0].costs, options.implementation)
    if options.save is not None:
        chosen = decision or decide(request_of(options, partitions=1, ranks=None), machines)
        _save(options.save, chosen.chosen.build())
    network = None
    if options.topology is not None and decision is not None:
        plan = decision.chosen.build()
        network = _network(options.topology, plan, options.ranks or plan.ranks)
    if options.json is not None:
        write_json(options.json, _document(optimum, uncoded, decision, network))
    if options.json != "-":
        print(_text(optimum, uncoded, decision, network))
    return 0


def _network(topology: str, plan: Plan, ranks: int) -> Placement:
    """Place a plan on so many ranks, which fill the hosts of a network in their order, as many on each."""
    from coded_mr.topology import SLURM, Sites, expand, place, read_topology

    tree = read_topology(topology)
    if tree is None:
        raise UsageError("--topology slurm: there is no scontrol here to ask; give a file")
    allocated = os.environ.get("SLURM_JOB_NODELIST") if topology == SLURM else None
    hosts = tree.hosts if allocated is None else expand(allocated)
    each = -(-ranks // len(hosts))
    return place(plan, Sites(tree, tuple(hosts[rank // each] for rank in range(ranks))))


def _save(path: str, plan: Plan) -> None:
    try:
        Path(path).write_text(plan.to_json() + "\n")
    except OSError as error:
        raise OutputError(f"cannot write --save {path}: {error.strerror}; choose another file") from error


def _machines(options: argparse.Namespace) -> Sequence[Machine]:
    """Return what costs are given, or what a profile says."""
    costs = costs_of(options)
    if options.profile is None:
        return () if costs is None else (Machine(costs),)
    if costs is not None or options.partitions is None:
        raise UsageError("--profile needs -p Q and goes without --costs")
    from coded_mr.engine.profile import Profile

    return Profile.load(options.profile).machines(options.partitions)


def _optimum(Q: int, costs: Costs, implementation: str) -> tuple[Allocation, Uncoded]:
    if implementation == "parallel":
        return parallel(Q, costs), uncoded_parallel(Q, costs)
    return sequential(Q, costs), uncoded_sequential(Q, costs)


def _document(
    optimum: Allocation, uncoded: Uncoded, decision: Decision | None, network: Placement | None
) -> dict[str, Any]:
    whole = optimum.implementation == "sequential"
    return {
        "format": "coded-mr-optimum/1",
        "implementation": optimum.implementation,
        "partitions": optimum.Q,
        "costs": {
            "c_m": str(optimum.costs.map),
            "c_s": str(optimum.costs.shuffle),
            "c_r": str(optimum.costs.reduce),
        },
        "r_star": int(optimum.r_star) if whole else str(optimum.r_star),
        "k_star": optimum.k_star,
        "t_star": str(optimum.t_star),
        "helpers": optimum.helpers,
        "alpha": str(optimum.alpha),
        "peak": str(optimum.peak),
        "load": str(optimum.load),
        "uncoded": {"r": str(uncoded.r), "k": uncoded.k, "t": str(uncoded.t)},
        "rows": [_row(row) for row in _shown_rows(optimum)],
        "chosen": None
        if decision is None
        else _chosen(decision.chosen) | {"reasons": list(decision.reasons)},
        "network": None if network is None else network.to_dict(),
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "r": row.r,
        "peak": str(row.p),
        "load": str(row.L),
        "helpers": row.helpers,
        "k": row.K,
        "t_map": str(row.t_map),
        "t_shuffle": str(row.t_shuffle),
        "t_reduce": str(row.t_reduce),
        "t": str(row.total),
    }


def _chosen(plan: Candidate) -> dict[str, Any]:
    return {
        "scheme": plan.scheme,
        "ranks": plan.ranks,
        "solvers": plan.solvers,
        "helpers": plan.helpers,
        "r": str(plan.r),
        "peak": str(plan.peak),
        "load": str(plan.load),
        "packets": plan.packets,
        "t_map": str(plan.t_map),
        "t_shuffle": str(plan.t_shuffle),
        "t_reduce": str(plan.t_reduce),
        "t": str(plan.total),
    }


def _shown_rows(optimum: Allocation) -> list[Row]:
    """Return the rows of the table, or those around the optimum when there are many."""
    Q = optimum.Q
    if Q >= 10_000:
        return []
    table = rows(Q, optimum.costs, optimum.implementation)
    start = min(max(optimum.r_plus - _ROWS // 2, 0), max(len(table) - _ROWS, 0))
    return list(table[start : start + _ROWS])


def _text(optimum: Allocation, uncoded: Uncoded, decision: Decision | None, network: Placement | None) -> str:
    Q, costs = optimum.Q, optimum.costs
    number = {"sequential": 1, "parallel": 2}[optimum.implementation]
    helpers = (
        "only approached, by ever more helpers"
        if optimum.k_star is None
        else (f"{Q} solvers and {optimum.helpers} helpers")
    )
    lines = [
        f"Q = {Q} partitions; c_m = {costs.map}, c_s = {costs.shuffle}, c_r = {costs.reduce}; "
        f"{optimum.implementation} implementation (Theorem {number})",
        f"  r* = {optimum.r_star}: {_mixture(optimum)}",
        f"  K* = {'none' if optimum.k_star is None else optimum.k_star}: {helpers}",
        f"  T* = {_exact(optimum.t_star)}; uncoded {_exact(uncoded.t)}, "
        f"{float(uncoded.t / optimum.t_star):.2f} times as long",
        "",
        *_table(optimum),
    ]
    if decision is not None:
        chosen = decision.chosen
        lines += ["", f"with {counted(chosen.ranks, 'rank')}: T = {_exact(chosen.total)}", *_bound(chosen)]
        lines += [f"  {reason}" for reason in decision.reasons]
    if network is not None:
        lines += [f"  network: {line}" for line in network.describe()]
        lines.append(f"  parts 0, 1, ... at ranks {', '.join(map(str, network.ranks))}")
    return "\n".join(lines)


def _bound(chosen: Candidate) -> list[str]:
    """Return the plan's load beside the least that its placement allows (Lemma 1)."""
    plan = chosen.build()
    load, bound = verify(plan).load, lower_bound(plan)
    ratio = f", {float(load / bound):.4g} times the bound" if bound else ""
    return [f"  load {_exact(load)}; Lemma 1 allows no less than {_exact(bound)}{ratio}"]


def _mixture(optimum: Allocation) -> str:
    if optimum.alpha == 1:
        return f"each file is mapped by {optimum.r_plus} solvers"
    return (
        f"{optimum.alpha} of the files are mapped by {optimum.r_plus} solvers, "
        f"{1 - optimum.alpha} by {optimum.r_minus}"
    )


def _table(optimum: Allocation) -> list[str]:
    heading = (
        f"  {'r':>4} {'p':>10} {'L':>10} {'helpers':>8} {'K':>6} {'map':>11} {'shuffle':>11} {'total':>11}"
    )
    lines = [heading]
    for row in _shown_rows(optimum):
        helpers, ranks = ("-", "-") if row.K is None else (row.helpers, row.K)
        mark = "*" if row.r in (optimum.r_plus, optimum.r_minus) and _is_part(optimum, row.r) else " "
        lines.append(
            f"{mark} {row.r:>4} {row.p!s:>10} {row.L!s:>10} {helpers:>8} {ranks:>6} "
            + " ".join(f"{fraction_text(time):>11}" for time in (row.t_map, row.t_shuffle, row.total))
        )
    return lines if len(lines) > 1 else ["  (no table for so many partitions)"]


def _is_part(optimum: Allocation, r: int) -> bool:
    return any(r == degree for degree, _ in optimum.parts)


def _exact(value: Fraction) -> str:
    exact = fraction_text(value)
    whole = value.denominator == 1 or exact != str(value)
    return exact if whole else f"{exact} ({float(value):.6g})"
