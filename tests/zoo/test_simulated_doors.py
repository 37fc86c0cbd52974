"""Full-size jobs on the simulated device: every front door reaches the plan and stays in it, without a call for memory.

The entry point gets all ten models, the other doors three or four each; STOWAGE_TEST_ALL=1 gives every door all of them.
What the jobs hold is compared with PyTorch's own allocator on four models; benchmarks/zoo_reserved.py does it for all.
"""

import os

import pytest

from tests.zoo import simulated, steady

pytestmark = pytest.mark.skipif(not (simulated.build_folder() / "simulator" / "env.json").exists(),
                                reason="the simulated device is not built")

SWITCHED_WITHIN = 6  # iterations
HEIGHT_RATIO = 1.01  # arena against lower bound
SOME = {
    "preload": ("resnet50", "vit_b", "lstm"),
    "pluggable": ("vgg16", "mobilenet_v2", "bert"),
    "enable_before": ("googlenet", "gpt2", "unet"),
    "enable_after": ("llama", "unet", "resnet50"),
}
COMPARED = ("googlenet", "unet", "gpt2", "lstm")  # the first two have the least room


def pairs() -> list[tuple[str, str]]:
    others = {door: steady.MODELS for door in SOME} if os.environ.get("STOWAGE_TEST_ALL") == "1" else SOME
    return [(model, door) for door, models in ({"entry_point": steady.MODELS} | others).items() for model in models]


@pytest.fixture(scope="module")  # a failure is kept too, and not measured again for each test
def all_figures() -> dict[tuple[str, str], steady.Figures]:
    """Measured at the first use, two processes at a time."""
    return steady.measure_pairs(pairs() + [(model, setting) for setting in ("native", "expandable") for model in COMPARED])


@pytest.mark.parametrize("model, door", pairs())
def test_every_door_reaches_the_plan_and_stays_in_it(all_figures, model, door):
    figures = all_figures[model, door]
    report = figures.report
    assert report.get("state") == "planned", report
    assert 0 < report["switched_at_iteration"] <= SWITCHED_WITHIN
    assert figures.misses == 0 and report["clean_iterations"] == report["planned_iterations"] > steady.STEADY
    assert report["hits"] >= report["planned_iterations"] * figures.plan["entries"] > 0
    assert figures.steady_calls == 0


@pytest.mark.parametrize("model", steady.MODELS)
def test_the_arena_is_hardly_higher_than_the_lower_bound(all_figures, model):
    plan = all_figures[model, "entry_point"].plan
    assert 0 < plan["lower_bound_bytes"] <= plan["height_bytes"] <= HEIGHT_RATIO * plan["lower_bound_bytes"]


@pytest.mark.parametrize("model", COMPARED)
def test_a_planned_job_holds_no_more_than_native_and_expandable_segments(all_figures, model):
    native, expandable, planned = (all_figures[model, setting] for setting in ("native", "expandable", "entry_point"))
    assert planned.reserved_bytes <= expandable.reserved_bytes < native.reserved_bytes
    # All tensors of the job were counted: no allocator can hold fewer bytes than are alive.
    assert planned.report["peak_live_bytes"] <= planned.reserved_bytes
