"""`coded-mr verify`: prove that a plan works, and hold its load against the least possible."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from coded_mr.cli import Parser
from coded_mr.cli.options import check_json, write_json
from coded_mr.errors import InputError
from coded_mr.plan import Plan, verify
from coded_mr.plan.bound import lower_bound

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status; a plan that does not work raises PlanError."""
    parser = Parser(
        prog="coded-mr verify",
        description="Prove that every solver can decode what it reduces, and show the loads.",
    )
    parser.add_argument("plan", metavar="PLAN.json", help="what `coded-mr plan --save` wrote")
    parser.add_argument(
        "--json", metavar="FILE", help="write one JSON object to FILE, or to standard output: -"
    )
    options = parser.parse_args(list(arguments))
    check_json(options.json)
    plan = Plan.from_json(_read(options.plan))
    found, bound = verify(plan), lower_bound(plan)
    ratio = found.load / bound if bound else None
    if options.json is not None:
        document = {
            "format": "coded-mr-verification/1",
            "scheme": plan.scheme,
            "load": str(found.load),
            "bound": str(bound),
            "ratio": None if ratio is None else str(ratio),
            "computation_load": str(found.computation_load),
            "peak": str(found.peak),
            "packets": len(plan.packets),
            "groups": len(plan.groups),
        }
        write_json(options.json, document)
    if options.json != "-":
        print(f"plan      {plan.describe()}")
        print("decoding  every solver gets everything it reduces, once")
        print(
            f"load      {found.load} ({float(found.load):.6g}) "
            f"with r = {found.computation_load}, p = {found.peak}"
        )
        least = "nothing has to travel" if ratio is None else f"ratio {ratio} ({float(ratio):.4g})"
        print(f"bound     {bound} ({float(bound):.6g}) by Lemma 1: {least}")
    return 0


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the plan {path}: {error}; check the path") from error
