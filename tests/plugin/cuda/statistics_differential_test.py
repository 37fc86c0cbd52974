"""One random program under native and under Stowage: every statistic compared after every step.

The program is made from a seed, printed as Python when the two disagree, and runs on the simulated device, whose time is
virtual: every kernel takes a second, so that streams are busy until the program waits for all of them, and both runs see
the same. (Waiting for one alone would tell which others are done by how often each run called CUDA.) Native runs with
expandable segments, which Stowage's upstream has too: other segments hand out larger blocks than asked for. An exchange of
plans may wait for the device, after which no stream is busy; so the job keeps its first plans here.
"""
import json
import random

import pytest
from simulated_job import run

# Statistics that must differ by construction: what was taken from the device, and how. The arena is one mapped range.
DIFFERENT = {
    "reserved_bytes": "the arena is mapped as a whole, for all of an iteration",
    "num_device_alloc": "calls that map memory: the arena's are not upstream's",
    "num_device_free": "calls that unmap memory",
    "num_sync_all_streams": "upstream's cache is emptied at a switch to a plan",
}

PROGRAM = """
import sys
streams = [torch.cuda.Stream() for _ in range(3)]
held, counts = {}, []
def stats():
    found = torch.cuda.memory_stats()
    snapshot = torch.cuda.memory._snapshot()["segments"]
    for key, name in (("allocated", "allocated"), ("active", "active"), ("reserved", "total")):
        sums = sum(s[f"{name}_size"] for s in snapshot), found[f"{key}_bytes.all.current"]
        assert sums[0] == sums[1], (key, sums)
    blocks = [b for s in snapshot for b in s["blocks"]]
    for state, key in (("active_allocated", "allocation"),):
        assert sum(b["state"] == state for b in blocks) == found[f"{key}.all.current"], state
    assert sum(b["state"].startswith("active") for b in blocks) == found["active.all.current"]
    for key in ("segment", "reserved_bytes"):  # compared with nothing, but they must be right in themselves
        for pool in ("all", "small_pool", "large_pool"):
            s = {part: found[f"{key}.{pool}.{part}"] for part in ("current", "peak", "allocated", "freed")}
            assert s["peak"] >= s["current"] >= 0, (key, pool, s)
    counts.append(found)
def busy(i):
    with torch.cuda.stream(streams[i]): torch.cuda._sleep(1)
def empty_cache():
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
def take(name, bytes, i):
    with torch.cuda.stream(streams[i] if i is not None else torch.cuda.default_stream()):
        held[name] = torch.empty(bytes, dtype=torch.uint8, device="cuda")
def use(name, i):
    held[name].record_stream(streams[i])
def drop(name):
    del held[name]
def activation(i):
    # what the plan has first in an iteration, used on another stream and freed
    job.optimizer.zero_grad()
    h = job.model[0](job.input)
    h.record_stream(streams[i])
    del h
def keep_forward(name):
    held[name] = job.forward()
def fail():
    try: torch.empty(1 << 46, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError: pass
job = Job(width=256)
if planned:
    enable()
    job.step()
    torch.empty(1 << 30, device="cuda")  # a plan is left where the job is seen to need less without one: not here
    plan(job, 30)
else:
    for _ in range(12): job.step()
torch.cuda.synchronize(); torch.cuda.empty_cache()
torch.cuda.reset_peak_memory_stats(); torch.cuda.reset_accumulated_memory_stats()
job.step()
stats()
for number, step in enumerate(steps):
    exec(step)
    try: stats()
    except AssertionError as error: raise AssertionError(f"after step {number}: {step}") from error
if planned: assert device()["hits"] > 0
print("RESULT" + json.dumps(counts))
"""


def program(seed, length):
    chosen = random.Random(seed)
    live, steps = [], []
    for number in range(length):
        kind = chosen.choices(
            ["step", "take", "drop", "use", "busy", "activation", "keep", "sync", "empty", "peak", "sums", "fail"],
            [6, 10, 8, 5, 3, 3, 2, 2, 1, 2, 1, 0.5])[0]
        stream = chosen.randrange(3)
        if kind == "step":
            steps.append("job.step()")
        elif kind == "take":
            live.append(f"t{number}")
            size = int(2 ** chosen.uniform(5, 24))
            steps.append(f"take({live[-1]!r}, {size}, {chosen.choice([None, None, 0, 1, 2])})")
        elif kind == "keep":
            live.append(f"t{number}")
            steps.append(f"keep_forward({live[-1]!r})")
        elif kind in ("drop", "use") and live:
            name = chosen.choice(live)
            if kind == "drop":
                live.remove(name)
            steps.append(f"drop({name!r})" if kind == "drop" else f"use({name!r}, {stream})")
        elif kind in ("busy", "activation"):
            steps.append(f"{kind}({stream})")
        else:
            steps.append({"sync": "torch.cuda.synchronize()", "empty": "empty_cache()",
                          "peak": "torch.cuda.reset_peak_memory_stats()",
                          "sums": "torch.cuda.reset_accumulated_memory_stats()", "fail": "fail()"}.get(kind, "pass"))
    return steps


def statistics(steps, planned, **extra):
    output = run(f"planned = {planned}\nsteps = {steps!r}\n" + PROGRAM, STOWAGE_SIM_LAUNCH_NS=str(10**9),
                 STOWAGE_MAX_PLANS="1", PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True", **extra)
    return json.loads(output.split("RESULT")[1])


def compared(name):
    return name.split(".")[0] not in DIFFERENT


@pytest.mark.parametrize("seed", range(4))
def test_every_statistic_is_natives_after_every_step(seed):
    steps = program(seed, 150)
    native, planned = (statistics(steps, planned) for planned in (False, True))
    for number, (one, other) in enumerate(zip(native, planned, strict=True)):
        unlike = {name: (one[name], other[name]) for name in one if compared(name) and one[name] != other[name]}
        assert not unlike, f"after step {number - 1} (native, Stowage): {unlike}\n" + "\n".join(steps[:number])


def test_the_exceptions_are_statistics_that_exist():
    names = {name.split(".")[0] for name in statistics([], False)[0]}
    assert set(DIFFERENT) <= names, set(DIFFERENT) - names
