"""Jobs whose iterations are not what lies between two optimizer steps, through the front door."""

import functools

import pytest

from tests.budget.runs import differences, run, under

# The least shares of their own peaks that these jobs were seen to run at are below these.
SHARES = {"steps_inside_the_backward_pass": ("80%", "40%"), "an_optimizer_for_each_parameter": ("60%", "40%"),
          "two_graphs_before_two_steps": ("60%",), "closures": ("60%",), "two_threads": ("60%", "40%"),
          "ten_critic_steps": ("60%",), "sharded_perceptron": ("50%", "40%")}
PLANNED = ("steps_inside_the_backward_pass", "an_optimizer_for_each_parameter", "two_graphs_before_two_steps")


@functools.cache
def plain() -> dict[str, dict]:
    return run(*dict.fromkeys((*SHARES, *PLANNED)))


@pytest.mark.parametrize(("name", "share"), [(name, share) for name, shares in SHARES.items() for share in shares])
def test_the_same_bits_within_a_share_of_the_peak(name, share):
    left = under(name, share)
    assert left["error"] == ""
    assert differences(plain()[name], left) == []
    budget = left["report"]["budget"]
    assert budget["peak_held_bytes"] <= budget["limit_bytes"] == budget["own_peak_bytes"] * int(share[:-1]) // 100
    assert budget["evictions"] > 0 and budget["refusals"] == 0


@pytest.mark.parametrize("name", PLANNED)
def test_without_a_budget_whole_iterations_are_planned(name):
    left = run(name, STOWAGE="1", STOWAGE_DEVICES="cpu", STOWAGE_PLAN_WAIT_MS="60000")[name]
    assert left["stderr"] == ""
    assert differences(plain()[name], left) == []
    report = left["report"]
    assert report["state"] == "planned" and report["last_iteration_misses"] == 0
    assert report["replans"] == 0 and report["upstream_allocated_bytes"] < report["arena_bytes"]


def test_steps_inside_the_backward_pass_end_one_iteration_together():
    left = run("steps_inside_the_backward_pass", STOWAGE="1", STOWAGE_DEVICES="cpu")["steps_inside_the_backward_pass"]
    assert left["report"]["iterations"] == 10
