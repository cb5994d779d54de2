"""Slurm: batch scripts built from plain settings, and the network between its nodes."""

from __future__ import annotations

from coded_mr.slurm.network import SLURM, show_topology
from coded_mr.slurm.script import Batch, Launcher, build_script

__all__ = ["SLURM", "Batch", "Launcher", "build_script", "show_topology"]
