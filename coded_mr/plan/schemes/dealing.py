"""Who reduces what when every rank reduces."""

from __future__ import annotations

from coded_mr.errors import PlanError
from coded_mr.plan.schedule import bundles

__all__ = ["deal_to_all"]


def deal_to_all(partitions: int, ranks: int, scheme: str) -> tuple[tuple[int, ...], ...]:
    """Return a bundle of partitions for each rank, of nearly equal length, the longer ones first.

    Raises PlanError, naming the scheme, unless every rank gets a partition.
    """
    if not 1 <= ranks <= partitions:
        raise PlanError(
            f"the {scheme} scheme has {ranks} ranks reduce {partitions} partitions: every rank reduces, "
            "so take 1 or more ranks, no more than partitions"
        )
    return tuple(bundles(partitions, ranks))
