"""A job that needs eviction in every iteration: after a few of them it follows a schedule, and rescue has nothing to do."""

import ast
import json
import subprocess
import sys

import pytest

from tests.budget.runs import ROOT, differences, of_two_lengths, run, under
from tests.environment import without
from tests.python.doors import python

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


def test_a_job_that_becomes_another_follows_a_further_schedule():
    job = of_two_lengths(30, 'print(budget["schedule"])')
    done = python(job, STOWAGE="1", STOWAGE_DEVICES="cpu", STOWAGE_BUDGET="60%", **PATIENT)
    assert done.returncode == 0, done.stderr
    first, second = (ast.literal_eval(line) for line in done.stdout.splitlines())
    assert first["followed"] and first["left"] == 0
    assert second["followed"] and second["kinds"] == 2 and second["left"] < 8
    assert done.stderr.count("a schedule is followed") == 1
    assert done.stderr.count("a schedule for a further kind of iteration is followed") == 1


def twice(name, budget, cache, iterations=ITERATIONS):
    """A job's first run and its second one: the same command, in new processes."""
    settings = PATIENT | {"STOWAGE": "1", "STOWAGE_DEVICES": "cpu", "STOWAGE_BUDGET": budget,
                          "STOWAGE_PLAN_CACHE": str(cache)}
    for _ in range(2):
        done = cold(name, iterations, **settings)
        assert done.returncode == 0, done.stderr
        yield json.loads(done.stdout) | {"stderr": done.stderr}


def cold(name, iterations, **settings):
    environment = without("STOWAGE") | {"OMP_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT}:{ROOT / 'python'}"} | settings
    return subprocess.run([sys.executable, "-m", "tests.budget.job", str(iterations), name], env=environment, cwd=ROOT,
                          text=True, capture_output=True, timeout=600)


@pytest.mark.parametrize("name, budget", (("wide_convolutions", "60%"), ("small_gpt", "60%"), ("small_gpt", "4MiB")))
def test_a_second_run_follows_the_schedule_of_the_first(tmp_path, name, budget):
    first, second = twice(name, budget, tmp_path / "plans")
    plain = run(name, iterations=ITERATIONS)[name]
    for left in (first, second):
        assert left["error"] == "" and differences(plain, left) == []
        assert 0 < left["report"]["budget"]["peak_held_bytes"] <= left["report"]["budget"]["limit_bytes"]
    before, after = (left["report"]["budget"]["schedule"] for left in (first, second))
    assert (before["made"] > 0, before["kept_found"], before["kept_refused"]) == (True, 0, 0)
    assert (after["made"], after["kept_found"], after["kept_refused"]) == (0, 1, 0), second["stderr"]
    assert after["followed"] and after["rooms"] == after["left"] == 0
    assert after["since_iteration"] < before["since_iteration"]
    assert after["evictions_before"] < before["evictions_before"]
    if budget.endswith("%"):
        assert after["evictions_before"] == 0, "the limit begins with the schedule"
    assert (after["evictions"], after["recomputed_ops"]) == (before["evictions"], before["recomputed_ops"])
    assert second["report"]["state"] == "planned"
    assert second["report"]["switched_at_iteration"] < first["report"]["switched_at_iteration"]
