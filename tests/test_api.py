"""Planning from Python."""

from __future__ import annotations

import subprocess
import sys

import pytest

import coded_mr
from coded_mr.errors import PlanError
from coded_mr.plan import verify


def test_the_paper_example_as_a_plan():
    plan = coded_mr.make_plan(3, "1,2,1")
    assert isinstance(plan, coded_mr.Plan)
    assert (len(plan.solvers), len(plan.helpers)) == (3, 2)
    assert str(verify(plan).load) == "1/9"


def test_an_impossible_plan_is_refused():
    with pytest.raises(PlanError, match="no plan fits"):
        coded_mr.make_plan(3, "1,2,1", ranks=2, helpers=2)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = coded_mr.nonsense


def test_a_job_file_imports_neither_numpy_nor_mpi():
    code = "import sys, coded_mr; print(sorted(set(sys.modules) & {'mpi4py', 'numpy', 'msgspec'}))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
