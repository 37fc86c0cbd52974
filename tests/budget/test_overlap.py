"""On the simulated CUDA device the copies of a schedule run beside kernels, in virtual time.

Layers are kept by a function that nobody can run again, so that memory can only be had by copies.
"""

import json

import pytest

from tests.budget.test_simulated import process
from tests.zoo import simulated

pytestmark = pytest.mark.skipif(not (simulated.build_folder() / "simulator" / "env.json").exists(),
                                reason="the simulated device is not built")
ITERATIONS, STEADY = 22, 4
JOB = f"""
import json, torch, stowage

class Kept(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        kept = torch.empty_like(x).copy_(x)
        ctx.save_for_backward(kept)
        return kept

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0]

layers = [torch.nn.Linear(4096, 4096, device="cuda") for _ in range(12)]
optimizer = torch.optim.SGD([p for layer in layers for p in layer.parameters()], lr=0.1)
data = torch.zeros(8192, 4096, device="cuda")
took = []
for _ in range({ITERATIONS}):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    x = data
    for layer in layers:
        x = Kept.apply(layer(x))
    x.sum().backward()
    del x
    optimizer.step()
    optimizer.zero_grad()
    end.record()
    torch.cuda.synchronize()
    took.append(begin.elapsed_time(end))
print(json.dumps({{"took": took, "report": stowage.report()}}))
"""


def run(**settings: str) -> tuple[float, dict]:
    """Virtual milliseconds of a steady iteration, and the report's part on the budget."""
    done = process("-c", JOB, STOWAGE="1", STOWAGE_DEVICES="cuda", STOWAGE_PLAN_WAIT_MS="60000", **settings)
    assert done.returncode == 0, done.stderr[-3000:]
    left = json.loads(done.stdout.splitlines()[-1])
    return sum(left["took"][-STEADY:]) / STEADY, left["report"].get("budget", {})


@pytest.mark.parametrize("budget", ["68%", "60%"])
def test_copies_are_hidden_behind_kernels(budget):
    took, under = run(STOWAGE_BUDGET=budget)
    schedule = under["schedule"]
    assert schedule["followed"] and schedule["left"] == 0, schedule
    assert under["peak_held_bytes"] <= under["limit_bytes"]
    assert schedule["copies"] > 4 and schedule["wait_ms"] < schedule["copy_ms"] / 2, schedule
    plain = run()[0]
    assert took < plain + schedule["recompute_ms"] + 0.75 * schedule["copy_ms"]
    assert schedule["ops_ms"] == pytest.approx(plain, rel=0.02), "copies that made room in the logged iteration are no ops"
    foreseen = schedule["ops_ms"] + schedule["recompute_ms"] + schedule["wait_ms"]
    assert took < 1.03 * foreseen, "the link is not slower than the store estimates"


def test_a_schedule_copies_no_more_than_the_store_holds():
    """Results take 128 MiB each: a store of 256 MiB has room for one of them, so more is recomputed."""
    ample, small = (run(STOWAGE_BUDGET="75%", STOWAGE_HOST_MEMORY=limit)[1] for limit in ("4GiB", "256MiB"))
    for under in (ample, small):
        assert under["schedule"]["followed"] and under["refusals"] == 0, under["schedule"]
        assert 0 < under["schedule"]["copies"] and under["peak_held_bytes"] <= under["limit_bytes"]
    assert small["schedule"]["copies"] < ample["schedule"]["copies"]
    assert small["schedule"]["recomputed_ops"] > 0
