"""Full-size jobs on the simulated device that keep copies from some iteration on: their plans serve on, in no more memory.

What is copied between two iterations must take no place of the plan: it would lie there for good.
"""

import json

import pytest

from tests.zoo import harness

JOB = """
import copy, io, json, sys
sys.path.insert(0, {root!r})
import torch
from tests.zoo import models
job, kept = models.build({model!r}, "full", "cuda"), []
def average(): kept.append(copy.deepcopy(job.model))
def snapshot(): kept.append({{name: value.clone() for name, value in job.model.state_dict().items()}})
def load():
    file = io.BytesIO()
    torch.save(job.optimizer.state_dict(), file)
    file.seek(0)
    job.optimizer.load_state_dict(torch.load(file, map_location="cpu"))
for i in range(24):
    if i == 10: {what}()
    job.step(i)
print("RESULT" + json.dumps({{"now": torch.cuda.memory_reserved(), "peak": torch.cuda.max_memory_reserved()}}))
"""


def run(door: str, model: str, what: str, **extra: str):
    script = JOB.format(root=str(harness.ROOT), model=model, what=what)
    done = harness.run_checked(door, ["-c", script], "simulated", extra)
    return json.loads(done.stdout.split("RESULT")[1].splitlines()[0]), done.report


@pytest.mark.parametrize("what", ["average", "snapshot", "load"])
@pytest.mark.parametrize("model", ["resnet50", "gpt2"])
def test_a_copy_of_weights_or_state_costs_what_it_holds(model, what):
    expandable, _ = run("plain", model, what, PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
    planned, report = run("warm_entry_point", model, what)
    device = report["devices"][0] if "devices" in report else report
    assert device["state"] == "planned", device
    assert device["clean_iterations"] >= device["planned_iterations"] - 3, device
    assert planned["now"] <= expandable["now"] * 1.01 and planned["peak"] <= expandable["peak"] * 1.02
