"""Calls that run as others (docs/recompute.md) leave the same bits and let a job train in less memory, and each can be
switched off. On the simulated device kernels are given live memory only.
"""

import json

import pytest

from tests.budget.runs import differences, run, under
from tests.budget.test_simulated import process, pytestmark as simulated

# The result of the first two convolutions takes 196 MiB each.
POOLS = """
import json, torch, stowage
from torch import nn
from tests.budget import cuda_job
model = nn.Sequential(
    nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(True), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(True), nn.MaxPool2d(2),
    nn.Conv2d(64, 128, 3, padding=1), nn.ReLU(True), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(4), nn.Flatten(),
    nn.Linear(2048, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for _ in range(ITERATIONS):
    model(torch.zeros(16, 3, 224, 224, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
print(json.dumps(stowage.report() | {"device": cuda_job.seen_by_the_simulator()}))
"""


def on_a_device_of(memory: str, iterations: int = 16, **settings: str):
    return process("-c", POOLS.replace("ITERATIONS", str(iterations)), STOWAGE="1", STOWAGE_DEVICES="cuda",
                   STOWAGE_SIM_MEMORY=memory, STOWAGE_HOST_MEMORY="2GiB", STOWAGE_PLAN_CACHE="off",
                   STOWAGE_PLAN_WAIT_MS="60000", **settings)


@simulated
def test_masks_and_indices_in_fewer_bytes_let_it_train_in_less():
    done = on_a_device_of("520MiB")
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads(done.stdout.splitlines()[-1])
    budget, schedule = report["budget"], report["budget"]["schedule"]
    assert budget["encodings"] >= 16 and budget["encoded_bytes"] >= 16 * (98 << 20)
    assert schedule["followed"] and 0 < schedule["encode_ms"] < schedule["ops_ms"] / 4
    assert report["state"] == "planned" and budget["refusals"] == 0
    assert report["device"]["misuses"] == 0 and report["device"]["looked_at"] > 0.98 * report["device"]["launches"]


@simulated
@pytest.mark.parametrize("off", ["STOWAGE_ENCODE", "STOWAGE_REUSE_GRADIENTS", "STOWAGE_SPLIT_OPS"])
def test_without_one_of_them_it_does_not(off):
    done = on_a_device_of("520MiB", 3, **{off: "0"})
    assert done.returncode != 0 and "OutOfMemoryError" in done.stderr, done.stderr[-3000:]


@simulated
def test_nothing_is_encoded_where_little_has_to_go():
    done = on_a_device_of("830MiB", 8)
    assert done.returncode == 0, done.stderr[-3000:]
    budget = json.loads(done.stdout.splitlines()[-1])["budget"]
    assert budget["encodings"] == 0


@pytest.mark.parametrize("percent", [75, 66])
def test_what_is_kept_in_fewer_bytes_gives_the_same_bits(percent):
    left = under("wide_pools", f"{percent}%")
    assert left["error"] == "" and differences(run("wide_pools")["wide_pools"], left) == []
    budget = left["report"]["budget"]
    assert budget["encodings"] > 0 and budget["peak_held_bytes"] <= budget["limit_bytes"] < budget["own_peak_bytes"]
    assert budget["schedule"]["followed"]


@simulated
@pytest.mark.parametrize("seed", [1, 6, 11])
def test_kernels_get_no_address_of_what_they_do_not_read(seed):
    """Something is evicted before each op: nothing of that reaches a kernel, though ops have it among their arguments."""
    plain, evicting = (process("-m", "tests.budget.unread_job", "3", **settings) for settings in (
        {}, {"STOWAGE": "1", "STOWAGE_DEVICES": "cuda", "STOWAGE_EVICT": f"forced:{seed}", "STOWAGE_PLAN_CACHE": "off"}))
    assert plain.returncode == evicting.returncode == 0, evicting.stderr[-3000:]
    plain, evicting = (json.loads(done.stdout.splitlines()[-1]) for done in (plain, evicting))
    assert evicting["misuses"] == plain["misuses"] == 0 and evicting["looked_at"] == evicting["launches"]
    assert evicting["launches"] > plain["launches"], "nothing was made again"
