"""Jobs with forward-mode AD (forward_mode.py) run at half of their own peak with the same bits: tangents are evicted."""

import subprocess

import pytest

from tests.budget.forward_mode import JOBS
from tests.budget.runs import process


def _run(name: str, **settings: str) -> subprocess.CompletedProcess:
    return process("-m", "tests.budget.forward_mode", name, **settings)


@pytest.mark.parametrize("name", JOBS)
def test_a_job_with_tangents_runs_far_below_its_peak(name):
    plain = _run(name)
    assert plain.returncode == 0, plain.stderr
    less = _run(name, STOWAGE="1", STOWAGE_DEVICES="cpu", STOWAGE_BUDGET="50%")
    assert less.returncode == 0, less.stderr[-2000:]
    assert less.stdout == plain.stdout
    assert "stowage: warning" not in less.stderr, "the budget was a limit"
