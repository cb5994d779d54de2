"""Plans: who maps what, who reduces what, and which coded packets travel. Plain data, no MPI."""

from coded_mr.plan.model import Batch, Packet, Plan, Term
from coded_mr.plan.verify import Verification, verify

__all__ = ["Batch", "Packet", "Plan", "Term", "Verification", "verify"]
