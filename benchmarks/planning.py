"""Time to write down and to verify large plans: `python -m benchmarks.planning`."""

from __future__ import annotations

import time

from coded_mr.plan import verify
from coded_mr.plan.planner import Request, decide
from coded_mr.plan.schemes import solver_helper
from coded_mr.theory.costs import Costs


def main() -> None:
    """Print seconds for some plans, and for choosing one for many ranks."""
    for Q, r, helpers in ((3, 2, 2), (8, 3, 3), (16, 3, 6), (20, 4, 5)):
        started = time.perf_counter()
        plan = solver_helper(Q, Q, r, helpers)
        written = time.perf_counter()
        found = verify(plan)
        verified = time.perf_counter()
        print(
            f"Q={Q:<3} r={r} helpers={helpers}: {len(plan.packets):>6} packets, "
            f"plan {written - started:.3f} s, verify {verified - written:.3f} s, L={found.load}"
        )
    for ranks in (22, 100, 1000):
        started = time.perf_counter()
        decision = decide(Request(ranks, ranks), Costs.parse("1,2,1"))
        print(f"{ranks} ranks and partitions: {decision.chosen} in {time.perf_counter() - started:.3f} s")


if __name__ == "__main__":
    main()
