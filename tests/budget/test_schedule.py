"""A job that needs eviction in every iteration: after a few of them it follows a schedule, and rescue has nothing to do."""

import ast
import json

import pytest

from tests.budget.runs import differences, of_two_lengths, run, under
from tests.python.doors import python
from tests.python.test_cli import stowage

ITERATIONS = 16
PATIENT = {"STOWAGE_PLAN_WAIT_MS": "60000", "STOWAGE_VERBOSE": "1"}
LATEST = 7  # two free iterations, two that evict, one that is written down; the schedule is there after the next


@pytest.mark.parametrize("name", ("wide_convolutions", "small_gpt"))
def test_rescue_gives_way_to_a_schedule(name):
    left = under(name, "60%", iterations=ITERATIONS, **PATIENT)
    assert left["error"] == ""
    assert differences(run(name, iterations=ITERATIONS)[name], left) == []
    budget = left["report"]["budget"]
    assert budget["peak_held_bytes"] <= budget["limit_bytes"] == budget["own_peak_bytes"] * 60 // 100
    schedule = budget["schedule"]
    assert schedule["followed"] and 0 < schedule["since_iteration"] <= LATEST, left["stderr"]
    assert schedule["left"] == 0 and schedule["iterations"] >= ITERATIONS - LATEST - 1
    assert schedule["rooms"] == 0 and schedule["reason"] == ""
    assert schedule["recomputed_ops"] > 0 and schedule["peak_bytes"] <= budget["limit_bytes"]
    each = [after - before for before, after in zip(left["evictions"], left["evictions"][1:])][-4:]
    assert each == [each[0]] * 4 and each[0] == schedule["evictions"]
    assert "a schedule is followed" in left["stderr"]


def test_a_budget_that_no_schedule_keeps_is_left_to_rescue():
    """What rescue recomputes of this job shares more than the scheduler finds."""
    left = under("densenet", "60%", iterations=ITERATIONS, **PATIENT)
    assert differences(run("densenet", iterations=ITERATIONS)["densenet"], left) == []
    budget = left["report"]["budget"]
    assert budget["peak_held_bytes"] <= budget["limit_bytes"] and budget["evictions"] > 0
    assert not budget["schedule"]["followed"] and budget["schedule"]["since_iteration"] == 0
    assert "the least budget for which one was found" in budget["schedule"]["reason"]
    assert left["stderr"].count("tensors are evicted on demand") == 1


def test_a_second_run_follows_the_kept_schedule_and_makes_none(tmp_path):
    def again(name: str) -> dict:
        return under(name, "60%", iterations=ITERATIONS, STOWAGE_PLAN_CACHE=str(tmp_path / "plans"), **PATIENT)
    name = "wide_convolutions"
    plain = run(name, iterations=ITERATIONS)[name]
    first, second = again(name), again(name)
    for left in (first, second):
        assert left["error"] == "" and differences(plain, left) == [] and left["report"]["state"] == "planned"
        assert left["report"]["budget"]["peak_held_bytes"] <= left["report"]["budget"]["limit_bytes"]
    made, found = (left["report"]["budget"]["schedule"] for left in (first, second))
    assert (made["made"], made["kept_found"]) == (1, 0), first["stderr"]
    assert (found["made"], found["kept_found"], found["kept_refused"]) == (0, 1, 0), second["stderr"]
    assert found["followed"] and found["since_iteration"] < made["since_iteration"]
    assert found["evictions_before"] < made["evictions_before"]
    assert found["left"] == 0 and found["evictions"] == made["evictions"]
    assert "the schedule of an earlier run is followed" in second["stderr"]
    cache = {"STOWAGE_PLAN_CACHE": str(tmp_path / "plans")}
    listed = json.loads(stowage("cache", "list", "--json", **cache).stdout)["files"]
    assert {file["schedule"]["evictions"] for file in listed if "schedule" in file} == {made["evictions"]}
    assert any("plans" in file for file in listed)
    assert "schedules, " in stowage("cache", "clear", **cache).stdout and list((tmp_path / "plans").iterdir()) == []


def test_a_job_that_becomes_another_is_written_down_anew():
    job = of_two_lengths(30, 'print(budget["schedule"])')
    done = python(job, STOWAGE="1", STOWAGE_DEVICES="cpu", STOWAGE_BUDGET="60%", **PATIENT)
    assert done.returncode == 0, done.stderr
    first, second = (ast.literal_eval(line) for line in done.stdout.splitlines())
    assert first["followed"] and first["left"] == 0
    assert second["followed"] and second["left"] == 3 and second["rooms"] == 0
    assert done.stderr.count("a schedule is followed") == 2
