"""Jobs whose iterations never repeat, on the simulated device: served from the arena, and no more reserved than with
expandable segments."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))
from tests.plugin.cuda.simulated_job import run  # noqa: E402

TRAIN = """
draw = torch.Generator().manual_seed(1)
job = Job()
def train(iterations, most=8192):
    for i in range(iterations):
        job.input = torch.zeros(int(torch.randint(64, most, (), generator=draw)), 512, device="cuda")
        job.step()
    return torch.cuda.max_memory_reserved()
"""
SERVED = "enable()\n" + TRAIN + "train(20); assert state() == 'online', report()\n"


@pytest.mark.parametrize("users", ["expandable_segments:True", ""], ids=["expandable", "native"])
def test_reserves_no_more_than_without(users):
    program = TRAIN + "train(30); torch.cuda.reset_peak_memory_stats(); print('reserved', train(40))\n"
    plain = run(program, PYTORCH_CUDA_ALLOC_CONF=users)
    ours = run("enable()\n" + program + """
found = device()
assert found["state"] == "online" and found["online"] > 0 and found["reason"] == "", found
assert found["missed_bytes"] == 0, found
""", PYTORCH_CUDA_ALLOC_CONF=users)
    words = {name: int(text.split("reserved ")[1].split()[0]) for name, text in (("plain", plain), ("ours", ours))}
    assert words["ours"] <= words["plain"], words


def test_memory_goes_back_and_comes_again():
    run(SERVED + """
before = torch.cuda.memory_reserved()
kept = torch.zeros(3 << 20, device="cuda")
job.optimizer.zero_grad(); job.input = None
torch.cuda.empty_cache()
assert torch.cuda.memory_reserved() < before
assert device()["arena_bytes"] < device()["arena_live_bytes"] + (8 << 20), device()
train(5)
assert state() == "online" and device()["missed_bytes"] == 0, report()
del kept
""")


def test_statistics_and_snapshot_know_the_blocks():
    run(SERVED + """
before = torch.cuda.memory_allocated()
mine = [torch.zeros(i << 18, device="cuda") for i in range(1, 9)]
assert torch.cuda.memory_allocated() == before + sum(t.numel() * 4 for t in mine)
blocks = {}
for segment in torch.cuda.memory_snapshot():
    for block in segment["blocks"]:
        blocks[block["address"]] = block
for tensor in mine:
    assert blocks[tensor.data_ptr()]["state"] == "active_allocated"
    assert blocks[tensor.data_ptr()]["size"] == tensor.numel() * 4
""")


def test_a_block_that_another_stream_uses_is_not_given_away():
    run(SERVED + """
side = torch.cuda.Stream()
block = torch.zeros(5 << 20, device="cuda")
address = block.data_ptr()
with torch.cuda.stream(side):
    torch.cuda._sleep(100)
    block.add_(1)
block.record_stream(side)
del block
torch.cuda.synchronize()
train(3)
with torch.cuda.stream(side):
    other = torch.zeros(5 << 20, device="cuda")
assert other.data_ptr() != address
assert state() == "online", report()
""")


def test_what_is_stopped_leaves_nothing():
    run(SERVED + """
kept = torch.ones(3 << 20, device="cuda")
disable()
train(3)
assert device()["state"] == "off" and device()["arena_live_bytes"] >= 12 << 20, report()
del kept
job = None
import gc; gc.collect()
torch.cuda.synchronize()
torch.cuda.empty_cache()
assert device()["arena_live_bytes"] == 0, report()
""")
