"""Jobs whose iterations are not all alike reserve no more with Stowage than PyTorch's allocator under the same settings.

Those are expandable segments, with which Stowage lets PyTorch's allocator record. The native segments, which small jobs like
these fit better, are in docs/results/reserved.md.
"""

import pytest

from tests.reserved import runs
from tests.reserved.jobs import JOBS

MIB = 1 << 20
PAGE = 2 * MIB  # of the device: these jobs hold less than 100 pages, so that 1 % is less than one


@pytest.mark.parametrize("job", sorted(JOBS))
def test_reserved_memory_is_at_most_that_of_the_same_settings(job):
    expandable, planned = (runs.run(job, setting, size="small", iterations=75) for setting in ("expandable", "stowage"))
    most = max(1.01 * expandable.reserved, expandable.reserved + 2 * PAGE)
    assert planned.reserved <= most, planned.report
    if planned.report["state"] == "off":
        reason = planned.report["reason"]
        assert reason in planned.errors and ("enough without one" in reason or "left its plan" in reason)


def test_a_job_that_plans_do_not_fit_is_not_served_online_at_a_price():
    expandable, planned = (runs.run("gan", setting, iterations=90) for setting in ("expandable", "stowage"))
    assert planned.reserved <= 1.01 * expandable.reserved, planned.report


@pytest.mark.parametrize("job", sorted(JOBS))
def test_losses_and_parameters_are_the_same_bits_on_the_cpu(job):
    plain, planned = (runs.run(job, setting, "cpu", iterations=45) for setting in ("native", "stowage"))
    assert planned.digest == plain.digest
    report = planned.report
    held = report["arena_bytes"] + report["upstream_reserved_bytes"]
    assert held <= 1.01 * max(report["reserved_before_bytes"], report["peak_live_bytes"]) + MIB, report


def test_a_tensor_kept_in_the_old_arena_does_not_end_planning():
    planned = runs.run("kept", "stowage", size="small", iterations=120)
    assert planned.report["state"] == "planned", planned.report
    assert planned.report["last_iteration_misses"] <= 5, planned.report  # the losses that it keeps lie in places of others


def test_evaluations_of_any_length_leave_training_on_its_plan():
    planned = runs.run("varying", "stowage", size="small", iterations=120)
    assert planned.report["state"] == "planned", planned.report
    missed = sum(planned.report["misses"].values())
    assert missed <= 0.02 * (planned.report["hits"] + planned.report["improvised"] + missed), planned.report


@pytest.mark.parametrize("size", ("usual", "large"))
def test_evaluations_of_any_length_lie_in_the_idle_arena(size):
    """Also where training's first layers take all of it."""
    expandable, planned = (runs.run("varying", setting, size=size, iterations=90) for setting in ("expandable", "stowage"))
    assert planned.report["state"] == "planned" and planned.report["replans"] == 0, planned.report
    assert planned.reserved <= expandable.reserved, planned.report
