"""Full-size jobs on the simulated device: every front door reaches the plan and stays in it, without a call for memory.

All doors with all ten models; benchmarks/zoo/doors.py makes a table of the same figures. What the jobs hold is compared
with PyTorch's own allocator, and so is the model of it that `stowage replay` has.
"""

import pytest

from tests.zoo import simulated, steady

pytestmark = pytest.mark.skipif(not (simulated.build_folder() / "simulator" / "env.json").exists(),
                                reason="the simulated device is not built")

HEIGHT_RATIO = 1.01  # arena against lower bound
MODEL_RATIO = 0.01  # a modelled allocator against the live one
PAIRS = [(model, door) for model in steady.MODELS for door in steady.DOORS]


@pytest.fixture(scope="module")  # a failure is kept too, and not measured again for each test
def all_figures() -> dict[tuple[str, str], steady.Figures]:
    """Measured at the first use, two processes at a time."""
    upstream = [(model, setting) for setting in ("native", "expandable") for model in steady.MODELS]
    return steady.measure_pairs(PAIRS + upstream)


@pytest.mark.parametrize("model, door", PAIRS)
def test_every_door_reaches_the_plan_and_stays_in_it(all_figures, model, door):
    figures = all_figures[model, door]
    assert figures.faults() == [], figures.report


@pytest.mark.parametrize("model", steady.MODELS)
def test_the_arena_is_hardly_higher_than_the_lower_bound(all_figures, model):
    plan = all_figures[model, "entry_point"].plan
    assert 0 < plan["lower_bound_bytes"] <= plan["height_bytes"] <= HEIGHT_RATIO * plan["lower_bound_bytes"]


@pytest.mark.parametrize("model", steady.MODELS)
def test_a_planned_job_holds_no_more_than_native_and_expandable_segments(all_figures, model):
    native, expandable, planned = (all_figures[model, setting] for setting in ("native", "expandable", "entry_point"))
    assert planned.reserved_bytes <= expandable.reserved_bytes < native.reserved_bytes
    # All tensors of the job were counted: no allocator can hold fewer bytes than are alive.
    assert planned.report["peak_live_bytes"] <= planned.reserved_bytes


@pytest.mark.parametrize("model", steady.MODELS)
@pytest.mark.parametrize("setting, modelled", [("native", "caching"), ("expandable", "expandable")])
def test_replay_models_pytorchs_allocator_as_it_is(all_figures, model, setting, modelled):
    figures = all_figures[model, "entry_point"].replayed["compare"][modelled]
    assert abs(figures["reserved"] / all_figures[model, setting].reserved_bytes - 1) <= MODEL_RATIO
