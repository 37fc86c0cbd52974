"""What the page of schedules says of a job, by what the job wrote."""

import json

import pytest

from benchmarks.budget.schedules import cell

SCHEDULE = {"since_iteration": 9, "recompute_ms": 3.8, "copy_ms": 0.0, "wait_ms": 0.0, "least_ms": 3.3, "ops_ms": 100.0,
            "reason": ""}
REFUSED = ("stowage: budget: tensors are evicted on demand, without a schedule: no schedule keeps this iteration within "
           "4000.0 MiB, and none can within less than 4400.0 MiB; the least budget for which one was found is 4600.0 MiB "
           "(4823449600 bytes)\n")


def answer(**values) -> str:
    return "@@ " + json.dumps(values) + "\n"


def with_schedule(**changes) -> str:
    return answer(seconds=1.0) + answer(state="planned", budget={"schedule": SCHEDULE | changes})


@pytest.mark.parametrize("output, text", [
    (with_schedule(), "3.8 (≥ 3.3)"),
    (with_schedule(copy_ms=21.0, wait_ms=2.5), "3.8 + 2.5 of 21.0 (≥ 3.3)"),
    (REFUSED + with_schedule(since_iteration=0, reason="no schedule keeps …"), "none below 44.0 %, found 46.0 %"),
    (answer(out_of_memory="CUDA out of memory."), "out of memory"),
    (with_schedule(since_iteration=0, reason="the job's ops differ"), "the job's ops differ"),
    (with_schedule(since_iteration=0), "no schedule: planned"),
    ("Traceback", "no schedule: no report"),
])
def test_a_cell_says_what_came_of_the_budget(output, text):
    assert cell(output, 40) == text
