"""PyTorch's memory history, with planned blocks in it: as native shows its own."""
import json

import pytest
from simulated_job import run

# One iteration's history, without Stowage, while it records, and with a plan; what must not differ is printed.
ITERATION = """
import collections, pickle
record = torch.cuda.memory._record_memory_history
def trace():
    return torch.cuda.memory._snapshot()["device_traces"][0]
def shape(entries):
    '''What native and Stowage must agree on: everything but addresses and times.'''
    python = lambda e: next((f["name"] for f in e.get("frames", []) if f["filename"].endswith((".py", "<string>"))), None)
    return [(e["action"], e["size"], e["stream"], python(e), e.get("compile_context"), e.get("user_metadata"))
            for e in entries if e["action"] in ("alloc", "free_requested", "free_completed")]
def start(planned):
    job = Job()
    if planned: enable(); return plan(job)
    for _ in range(8): job.step()
    return job
"""


def shape(planned, snippet):
    """The output of `snippet` under a plan or under native."""
    extra = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "STOWAGE_SIM_LAUNCH_NS": str(10**9)}
    return run(f"planned = {planned}\n" + ITERATION + snippet, **extra)


def shapes(snippet):
    """The output of `snippet` under native and under a plan."""
    return [shape(planned, snippet) for planned in (False, True)]


@pytest.mark.parametrize("arguments", [
    "", "context='state'", "context='alloc'", "context=None", "max_entries=7", "stacks='all'",
    "skip_actions=['free_requested']",
])
def test_an_iteration_has_the_same_history_as_with_native(arguments):
    native, planned = shapes(f"""
job = start(planned)
record({arguments})
job.step()
print(shape(trace()))
""")
    assert native == planned
    assert "free_completed" in native


def test_metadata_and_compile_context_of_the_thread():
    native, planned = shapes("""
job = start(planned)
torch.cuda.memory._set_memory_metadata("the third epoch")
record(compile_context=True)
job.forward()
torch.cuda.memory._set_memory_metadata("")
job.optimizer.zero_grad()
print(shape(trace()))
""")
    assert native == planned and "the third epoch" in native


def test_clear_history_and_off():
    native, planned = shapes("""
job = start(planned)
record(); job.step()
record(clear_history=True); job.forward()
print(shape(trace()))
record(enabled=None)
job.step()
print(trace())
""")
    assert native == planned and native.endswith("[]\n")


def test_entries_of_arena_and_upstream_lie_in_the_order_of_time():
    run(ITERATION + """
enable()
job = plan(Job())
record()
hits = device()["hits"]
job.optimizer.zero_grad()
h = job.model[0](job.input)                                        # planned
assert device()["hits"] > hits
x = torch.zeros(3 << 20, dtype=torch.uint8, device="cuda")         # upstream's
g = job.model[1](h)                                                # planned
entries = [e for e in trace() if e["action"] == "alloc"]
at = {e["addr"]: i for i, e in enumerate(entries)}
assert at[h.data_ptr()] < at[x.data_ptr()] < at[g.data_ptr()], at
times = [e["time_us"] for e in trace()]
assert times == sorted(times) and times[0] > 1.6e15, times
""")


def test_live_blocks_keep_the_frames_of_their_allocation():
    run(ITERATION + """
enable()
job = plan(Job())
record()
job.optimizer.zero_grad()
def forward_here():
    return job.model[0](job.input)
h = forward_here()
def block():
    return [b for s in torch.cuda.memory._snapshot()["segments"] for b in s["blocks"] if b["address"] == h.data_ptr()][0]
assert any(f["name"] == "forward_here" for f in block()["frames"]), block()
record(enabled=None)
assert any(f["name"] == "forward_here" for f in block()["frames"]), "native keeps them while the block lives"
address = h.data_ptr()
del h
job.step(); job.step()
frames = [b.get("frames") for s in torch.cuda.memory._snapshot()["segments"] for b in s["blocks"] if b["address"] == address]
assert not any(frames), frames
""")


def test_a_free_that_waits_for_a_stream_is_completed_later():
    native, planned = shapes("""
job = start(planned)
job.optimizer.zero_grad()
side = torch.cuda.Stream()
h = job.model[0](job.input)
record()
with torch.cuda.stream(side): torch.cuda._sleep(1)
h.record_stream(side)
del h
print(shape(trace()))
torch.cuda.empty_cache()
print(shape(trace()))
""")
    assert native == planned
    before, after = planned.splitlines()
    assert "free_requested" in before and "free_completed" not in before and "free_completed" in after


def test_plots_render_from_the_pickle(tmp_path):
    run(f"""
import pickle, torch.cuda._memory_viz as viz
enable()
job = plan(Job())
torch.cuda.memory._record_memory_history()
job.step()
h = job.forward()
path = {str(tmp_path / "snapshot.pickle")!r}
torch.cuda.memory._dump_snapshot(path)
snapshot = pickle.load(open(path, "rb"))
for plot in (viz.trace_plot, viz.segment_plot):
    assert "<html" in plot(snapshot) or "viz" in plot(snapshot)
assert viz.segsum(snapshot) and viz.trace(snapshot)
""")


def test_the_arena_s_pages_come_and_go_in_the_history():
    run(ITERATION + """
enable()
record()
job = plan(Job())
job.optimizer.zero_grad()
h = job.model[0](job.input)
holds = lambda start, size, address: start <= address < start + size
arena = next(s for s in torch.cuda.memory._snapshot()["segments"] if holds(s["address"], s["total_size"], h.data_ptr()))
mapped = {"segment_map": 1, "segment_alloc": 1, "segment_unmap": -1, "segment_free": -1}
inside = [e for e in trace() if holds(arena["address"], arena["total_size"], e["addr"])]
bytes = sum(mapped.get(e["action"], 0) * e["size"] for e in inside)
assert bytes == arena["total_size"] == device()["arena_bytes"], (bytes, arena["total_size"], device()["arena_bytes"])
""")


def test_history_from_before_stowage_goes_on():
    run(ITERATION + """
record()
job = Job()
job.step()
before = len(trace())
assert before
enable()
plan(job)
entries = trace()
assert len(entries) > before
assert [e["time_us"] for e in entries] == sorted(e["time_us"] for e in entries)
hits = device()["hits"]
job.step()
made = trace()[len(entries):]
assert device()["hits"] > hits and sum(e["action"] == "alloc" for e in made) >= device()["hits"] - hits
assert any(f["name"] == "forward" for e in made for f in e.get("frames", []))
""")


def test_out_of_memory_is_in_the_history_and_observers_can_take_a_snapshot():
    run(ITERATION + """
enable()
job = plan(Job())
record()
seen = []
torch._C._cuda_attach_out_of_memory_observer(
    lambda device, size, total, free: seen.append((size, torch.cuda.memory._snapshot())))
h = job.forward()
try: torch.empty(1 << 46, dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError: pass
assert len(seen) == 1 and seen[0][0] == 1 << 46
actions = collections.Counter(e["action"] for e in seen[0][1]["device_traces"][0])
assert actions["oom"] == 1 and actions["alloc"] > 8, actions
""")


def test_profilers_memory_view(tmp_path):
    """The profiler logs to standard output, with times and process numbers: what is compared goes to a file."""
    seen = tmp_path / "seen.json"
    views = []
    for planned in (False, True):
        shape(planned, f"""
job = start(planned)
from torch.profiler import profile, ProfilerActivity
with profile(activities=[ProfilerActivity.CPU], profile_memory=True, record_shapes=True, with_stack=True) as prof:
    job.step()
prof.export_memory_timeline({str(tmp_path / "timeline.raw.json.gz")!r}, device="cuda:0")
import gzip, json
timeline = json.load(gzip.open({str(tmp_path / "timeline.raw.json.gz")!r}))
usage = sorted(e.device_memory_usage for e in prof.events() if e.device_memory_usage)
json.dump([[e[1:4] for e in timeline], usage], open({str(seen)!r}, "w"))
""")
        views.append(json.loads(seen.read_text()))
        seen.unlink()
    native, planned = views
    assert native == planned
    timeline, usage = native
    assert len(timeline) > 20 and len(usage) > 10
