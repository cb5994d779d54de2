"""Batch scripts for Slurm, built from plain settings."""

from __future__ import annotations

from coded_mr.slurm.script import Batch, Launcher, build_script

__all__ = ["Batch", "Launcher", "build_script"]
