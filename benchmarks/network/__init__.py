"""Coded against uncoded shuffles on emulated networks: `python -m benchmarks.network`.

TeraSort and word count on 8 and 12 hosts, on one shared bus and on a full-duplex switch: the best uncoded
all-to-all, the published baseline in which one host sends at a time, symmetric coding, resolvable designs,
solvers with helpers, and what the planner chooses by itself. Every result is checked. All rivals of a setting
take turns in one MPI job on the same hosts and the same input.
"""
