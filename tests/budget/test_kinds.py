"""A job under a budget whose iterations are of several kinds: each gets a schedule and a plan of its own."""

import ast

import pytest

from tests.python.doors import python

JOB = """
import hashlib, os, torch
torch.manual_seed(1)
between = torch.nn.GELU(), torch.nn.Dropout(0.1)
trunk = torch.nn.Sequential(*(layer for _ in range(12) for layer in (torch.nn.Linear(64, 64), *between)))
heads = torch.nn.ModuleList(
    torch.nn.Sequential(*(layer for _ in range(depth) for layer in (torch.nn.Linear(64, 64), torch.nn.Tanh())))
    for depth in (1, {depth}))
optimizer = torch.optim.AdamW([*trunk.parameters(), *heads.parameters()], 1e-3)
losses = []
for i in range({iterations}):
    features = trunk(torch.randn(1024, 64))
    loss = heads[0](features).square().mean()
    if {other}:
        loss = loss + heads[1](features * 0.5).abs().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())
left = hashlib.sha256(repr(losses).encode())
for value in (*trunk.parameters(), *heads.parameters()):
    left.update(value.detach().numpy().tobytes())
print(repr(left.hexdigest()))
if os.environ.get("STOWAGE"):
    import stowage
    print(dict(stowage.report()))
"""
PATIENT = {"STOWAGE_PLAN_WAIT_MS": "60000", "STOWAGE_VERBOSE": "1"}


def left(job: str, **settings: str) -> tuple[str, dict, str]:
    """The job's digest, Stowage's report, and what it said."""
    done = python(job, **settings)
    assert done.returncode == 0, done.stderr
    digest, *report = map(ast.literal_eval, done.stdout.splitlines())
    return digest, report[0] if report else {}, done.stderr


@pytest.mark.parametrize(("other", "iterations"), (("i % 3 == 2", 61), ("i % 5 == 4", 93), ("i > 40 and i % 10 < 2", 240)))
def test_each_kind_gets_a_schedule_and_a_plan(other, iterations):
    job = JOB.format(other=other, iterations=iterations, depth=12)
    plain, none, _ = left(job)
    digest, report, said = left(job, STOWAGE="1", STOWAGE_DEVICES="cpu", STOWAGE_BUDGET="60%", **PATIENT)
    assert none == {} and digest == plain
    budget = report["budget"]
    assert 0 < budget["peak_held_bytes"] <= budget["limit_bytes"]
    assert budget["schedule"]["kinds"] == 2 and budget["schedule"]["followed"], said
    assert report["state"] == "planned" and len(report["plans"]) >= 2
    assert report["last_iteration_misses"] == 0, said
    assert report["hits"] > 0.85 * (report["hits"] + sum(report["misses"].values())), said
    assert "a schedule for a further kind of iteration is followed" in said


@pytest.mark.parametrize("other", ("i % 3 == 2", "i % 5 == 4"))
def test_a_kind_that_differs_in_a_few_ops_follows_the_others_schedule(other):
    job = JOB.format(other=other, iterations=81, depth=1)
    plain, none, _ = left(job)
    digest, report, said = left(job, STOWAGE="1", STOWAGE_DEVICES="cpu", STOWAGE_BUDGET="60%", **PATIENT)
    assert none == {} and digest == plain
    budget, schedule = report["budget"], report["budget"]["schedule"]
    assert 0 < budget["peak_held_bytes"] <= budget["limit_bytes"]
    assert schedule["followed"] and schedule["left"] == 0 and schedule["resynced"] > 0, said
    assert report["state"] == "planned" and len(report["plans"]) >= 2
    assert report["hits"] > 0.9 * (report["hits"] + sum(report["misses"].values())), said
