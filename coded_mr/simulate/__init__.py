"""Jobs on a machine that does not exist: to see, before there is one, where coding pays.

`simulate` runs an explicit plan packet by packet, `predict` a design of any size from its loads, `Study`
compares the solver-helper scheme with its uncoded rival. No MPI, no files, no numpy; times are exact.
"""

from coded_mr.simulate.events import Interval, Trace, simulate
from coded_mr.simulate.fluid import Design, Slowest, Times, coded_design, predict, uncoded_design
from coded_mr.simulate.machine import Machine, Noise
from coded_mr.simulate.study import Row, Study, Summary, exponent

__all__ = [
    "Design",
    "Interval",
    "Machine",
    "Noise",
    "Row",
    "Slowest",
    "Study",
    "Summary",
    "Times",
    "Trace",
    "coded_design",
    "exponent",
    "predict",
    "simulate",
    "uncoded_design",
]
