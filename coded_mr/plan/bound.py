"""The least communication load that a plan's placement allows, whatever its packets are."""

from __future__ import annotations

from fractions import Fraction

from coded_mr.errors import PlanError
from coded_mr.plan.model import Plan
from coded_mr.theory.converse import placement_bound

__all__ = ["lower_bound"]


def lower_bound(plan: Plan) -> Fraction:
    """Return the bound of Lemma 1 on the load L of any shuffle for this plan's placement.

    Every partition counts by itself, also those that one rank reduces as a bundle: the load that `verify`
    computes, with its padding, is never below. Raises PlanError when the plan has no partition or no batch,
    or a batch that nobody maps.
    Source: Yu et al. 2017 (arXiv 1702.07297), Lemma 1 (24).
    """
    if plan.partitions < 1 or not plan.batches:
        raise PlanError("a plan without partitions or batches has no communication load to bound")
    reducers: list[list[int]] = [[] for _ in range(plan.partitions)]
    for rank, owned in enumerate(plan.reduces):
        for partition in owned:
            reducers[partition].append(rank)
    return placement_bound(plan.batches, reducers)
