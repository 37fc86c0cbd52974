"""A budget of "auto", which a CUDA job has without any setting, on the simulated device: nothing happens before the device
is nearly full; then a job that would have ended out of memory goes on.

That the bits are the same where the runtime joins in the midst of an iteration is shown on the CPU
(tests/recompute/joining_test.py).
"""

import functools
import json

import pytest

from tests.budget.test_simulated import each, process, pytestmark  # noqa: F401  the mark is this module's, too

ITERATIONS = 24
PAGE = 2 << 20
GPT_PEAK = 698_351_616  # bytes that `gpt` takes from a device that has more than enough


@functools.cache
def on_a_device_of(percent: int, name: str = "gpt", iterations: int = ITERATIONS, **settings: str) -> dict:
    """What the job leaves on a device of that share of its peak, with no setting but STOWAGE=1."""
    memory = GPT_PEAK * percent // 100 // PAGE * PAGE
    done = process("-m", "tests.budget.cuda_job", str(iterations), name, STOWAGE_SIM_MEMORY=str(memory),
                   **{"STOWAGE": "1", "STOWAGE_DEVICES": "cuda", "STOWAGE_PLAN_CACHE": "off",
                      "STOWAGE_PLAN_WAIT_MS": "60000"} | settings)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1]) | {"stderr": done.stderr, "memory": memory}


@pytest.mark.parametrize("settings", [{"STOWAGE": "0"}, {"STOWAGE_BUDGET": "none"}])
def test_without_it_the_job_ends_out_of_memory(settings):
    assert on_a_device_of(75, iterations=2, **settings)["error"].startswith("CUDA out of memory.")


@pytest.mark.parametrize("percent", [75, 50, 33])
def test_a_job_that_the_device_cannot_hold_goes_on(percent):
    left = on_a_device_of(percent)
    budget = left["report"]["budget"]
    assert left["error"] == "" and left["ooms"] == 0 and left["misuses"] == 0
    assert (budget["setting"], budget["joins"], budget["joined_at_iteration"]) == ("auto", 1, 0)
    assert left["memory"] * 0.9 < budget["limit_bytes"] < left["memory"] and left["held"] <= left["memory"]
    assert budget["schedule"]["followed"] and budget["refusals"] == 0
    assert left["stderr"].count("\n") == 1 and "cuda:0 is full: from now on tensors are evicted" in left["stderr"]


def test_it_is_planned_and_then_evicts_the_same_in_each_iteration():
    left = on_a_device_of(75)
    assert left["report"]["state"] == "planned"
    assert len(set(each(left["evictions"])[-4:])) == 1 and len(set(left["events"][-4:])) == 1


@pytest.mark.parametrize("percent", [103, 150])
def test_a_job_that_fits_is_left_alone_again(percent):
    left = on_a_device_of(percent)
    report, budget = left["report"], left["report"]["budget"]
    assert left["error"] == "" and left["stderr"] == ""
    assert budget["joins"] == 1 and not budget["watching"] and budget["limit_bytes"] == 0
    assert budget["evictions"] == 0 and budget["ops"] > 0
    plain = on_a_device_of(1000)["report"]
    assert report["state"] == plain["state"] == "planned"
    assert report["reserved_after_bytes"] <= plain["reserved_after_bytes"] + (12 << 20)


def test_a_job_that_stays_well_below_is_never_seen():
    left = on_a_device_of(300)
    assert left["stderr"] == "" and "budget" not in left["report"] and left["report"]["state"] == "planned"


def test_what_cannot_be_recomputed_is_offloaded_though_it_was_there_before():
    left = on_a_device_of(25, "tuned_fused", 12)
    budget = left["report"]["budget"]
    assert left["error"] == "" and left["misuses"] == 0 and budget["joined_at_iteration"] == 0
    assert budget["offloads"] > 0 and budget["fetches"] > 0
    assert on_a_device_of(25, "tuned_fused", 3, STOWAGE_BUDGET="none")["error"] != ""


RETRIES = """
import torch, stowage
model = torch.nn.Sequential(*(layer for _ in range(24) for layer in (torch.nn.Linear(256, 256), torch.nn.GELU()))).cuda()
batch = 1 << 20
told = []
while True:
    try:
        for _ in range(6):
            model(torch.zeros(batch, 256, device="cuda")).sum().backward()
            stowage.step()
        break
    except torch.cuda.OutOfMemoryError as error:
        told.append(str(error))
        batch //= 4
print(batch, len(told))
assert told and "STOWAGE_BUDGET=95%device" in told[0], told
assert stowage.report()["budget"]["joins"] == 1
"""


def test_a_job_that_tries_smaller_batches_is_helped_from_the_first_error_on():
    """A batch of 1 GiB is more than the device holds; one of 256 MiB would not fit without evictions."""
    done = process("-c", RETRIES, STOWAGE="1", STOWAGE_DEVICES="cuda", STOWAGE_SIM_MEMORY="1GiB", STOWAGE_PLAN_CACHE="off")
    assert done.returncode == 0, done.stderr
    plain = process("-c", RETRIES.replace("assert", "0 and"), STOWAGE="1", STOWAGE_DEVICES="cuda", STOWAGE_BUDGET="none",
                    STOWAGE_SIM_MEMORY="1GiB", STOWAGE_PLAN_CACHE="off")
    assert int(done.stdout.split()[0]) > int(plain.stdout.split()[0]), (done.stdout, plain.stdout)


SERVES = """
import torch, stowage
torch.set_grad_enabled(False)
model = torch.nn.Sequential(*(layer for _ in range(24) for layer in (torch.nn.Linear(256, 256), torch.nn.GELU()))).cuda()
weights = torch.zeros(600 << 20, dtype=torch.uint8, device="cuda")
joined = []
for request in range(400):
    model(torch.zeros(1 << 14, 256, device="cuda"))
    budget = stowage.report().get("budget", {})
    joined.append(bool(budget.get("watching")))
assert joined[0] and not joined[-1], joined
assert budget["evictions"] == 0 and budget["limit_bytes"] == 0, budget
"""


def test_an_inference_job_that_fits_is_left_alone_again():
    """Nobody says where its iterations end, and the allocations say it inside of ops."""
    done = process("-c", SERVES, STOWAGE="1", STOWAGE_DEVICES="cuda", STOWAGE_SIM_MEMORY="1GiB", STOWAGE_PLAN_CACHE="off")
    assert done.returncode == 0 and done.stderr == "", done.stderr


CAPTURED = """
import torch, stowage
buffer = torch.zeros(64 << 20, dtype=torch.uint8, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    buffer.add_(1)
kept = [torch.zeros(256 << 20, dtype=torch.uint8, device="cuda") for _ in range(3)]
graph.replay()
assert "budget" not in stowage.report(), stowage.report()
"""


def test_a_job_with_captured_graphs_keeps_all_of_its_memory_where_it_is():
    done = process("-c", CAPTURED, STOWAGE="1", STOWAGE_DEVICES="cuda", STOWAGE_SIM_MEMORY="1GiB", STOWAGE_PLAN_CACHE="off")
    assert done.returncode == 0 and done.stderr == "", done.stderr


IN_A_THREAD = """
import threading, torch, stowage
def train():
    model = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(8))).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ballast = torch.zeros(600 << 20, dtype=torch.uint8, device="cuda")
    for _ in range(3):
        model(torch.zeros(256, 512, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    assert stowage.report()["budget"]["joins"] == 1, stowage.report()
thread = threading.Thread(target=train)
thread.start()
thread.join()
"""


def test_where_the_main_thread_only_waits_it_joins_at_an_iterations_end():
    done = process("-c", IN_A_THREAD, STOWAGE="1", STOWAGE_DEVICES="cuda", STOWAGE_SIM_MEMORY="1GiB",
                   STOWAGE_PLAN_CACHE="off")
    assert done.returncode == 0 and "Error" not in done.stderr, done.stderr
