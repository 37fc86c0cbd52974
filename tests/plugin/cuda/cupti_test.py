"""Op times through CUPTI on the simulated device: what is measured, what is left behind, and other profilers beside it."""
import json
import pathlib
import subprocess

import pytest
from simulated_job import BUILD, run

TORCH = """
from torch.profiler import ProfilerActivity, profile
BOTH = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
def kernels(profiled):
    return sum(e.count for e in profiled.key_averages() if e.device_type == torch.autograd.DeviceType.CUDA)
def whole(profiled, steps=1):
    # A step has 39 kernels, fills and copies.
    return kernels(profiled) >= 39 * steps
def timed_by():
    return device()["op_times"]
"""


def timeline(path: pathlib.Path) -> list[dict]:
    """The events of the trace at `path`."""
    out = path.with_suffix(".json")
    subprocess.run([BUILD / "replay" / "stowage-replay", "timeline", path, "--out", out], check=True, stdout=subprocess.PIPE)
    return json.loads(out.read_text())["traceEvents"]


def recorded(folder: pathlib.Path, body: str = "plan(Job())", settings: str = "cupti=1", **environment) -> list[dict]:
    path = folder / "job.stowtrace"
    run(TORCH + f"enable({settings})\n{body}\nassert lib.stowage_save_trace(b'{path}', None) == 0\n", **environment)
    return timeline(path)


def test_ops_have_the_time_of_their_kernels(tmp_path):
    events = recorded(tmp_path)
    ops = [e for e in events if e.get("cat") == "cpu_op"]
    kernels = [e for e in events if e.get("cat") == "kernel"]
    assert ops and kernels
    assert {e["args"]["timed by"] for e in ops} == {"cupti"}
    by_id = {e["args"]["External id"]: e for e in ops}
    for kernel in kernels:
        op = by_id[kernel["args"]["External id"]]
        assert op["args"]["kernels"] >= 1 and op["args"]["time ns"] >= kernel["args"]["duration ns"] > 0
    products = {e["args"]["time ns"] for e in ops if e["name"] == "aten::addmm"}
    assert len(products) == 1, "the same product takes the same time, whichever iteration and layer"
    starts, ends = ([e for e in events if e["ph"] == phase] for phase in "sf")
    assert len(starts) == len(ends) == len([e for e in events if e.get("cat") in ("kernel", "gpu_memset", "gpu_memcpy")])


def test_two_runs_measure_the_same_times(tmp_path):
    def times(name):
        (tmp_path / name).mkdir()
        return [(e["name"], e["args"]["time ns"]) for e in recorded(tmp_path / name) if e.get("cat") == "cpu_op"]
    assert times("a") == times("b")


def test_copies_and_waits_are_told_apart(tmp_path):
    events = recorded(tmp_path, """
class Logging(Job):
    def step(self):
        super().step()
        self.input.copy_(torch.zeros(256, 512).pin_memory(), non_blocking=True)
        self.forward().item()
plan(Logging())
""")
    copies = [e for e in events if e.get("cat") == "cpu_op" and e["name"] == "aten::copy_" and e["args"]["copy ns"] > 0]
    waits = [e for e in events if e.get("cat") == "cpu_op" and e["args"]["wait ns"] > 0]
    assert copies and any(e["name"] == "aten::_local_scalar_dense" for e in waits)
    assert any(e.get("cat") == "gpu_memcpy" and e["args"]["bytes"] == 256 * 512 * 4 for e in events)


def test_work_on_two_streams_overlaps(tmp_path):
    events = recorded(tmp_path, """
side = torch.cuda.Stream()
class Both(Job):
    def step(self):
        super().step()
        with torch.cuda.stream(side):
            for _ in range(20):
                torch.mm(self.input.t(), self.input)
        for _ in range(20):
            torch.mm(self.input.t(), self.input)
        torch.cuda.current_stream().wait_stream(side)
plan(Both())
""", STOWAGE_SIM_GFLOPS="5000")  # products longer than their launches
    ops = [e["args"] for e in events if e.get("cat") == "cpu_op" and e["name"] == "aten::mm"]
    assert any(op["overlap ns"] > 0 for op in ops)
    assert all(op["overlap ns"] <= op["time ns"] for op in ops)
    assert len({e["tid"] for e in events if e.get("cat") == "kernel"}) == 2


def test_cupti_is_used_where_times_are_wanted():
    run(TORCH + "enable(); plan(Job()); assert set(timed_by()) == {'events'}, timed_by()")
    run(TORCH + "enable(trace='/dev/null'); plan(Job()); assert set(timed_by()) == {'cupti'}, timed_by()")
    run(TORCH + "enable(trace='/dev/null', cupti=0); plan(Job()); assert set(timed_by()) == {'events'}, timed_by()")


def test_nothing_is_left_behind():
    """No kind enabled, nobody subscribed: a client that comes afterwards gets records of nothing."""
    run(TORCH + """
enable(cupti=1)
job = plan(Job())
cupti = ctypes.CDLL(None)
SIZE, ADDRESS = ctypes.c_size_t, ctypes.c_void_p
REQUESTED = ctypes.CFUNCTYPE(None, ctypes.POINTER(ADDRESS), ctypes.POINTER(SIZE), ctypes.POINTER(SIZE))
COMPLETED = ctypes.CFUNCTYPE(None, ADDRESS, ctypes.c_uint32, ADDRESS, SIZE, SIZE)
asked = []
memory = ctypes.create_string_buffer(1 << 16)
def requested(buffer, size, most):
    asked.append(1)
    buffer[0], size[0], most[0] = ctypes.addressof(memory), len(memory), 0
request, complete = REQUESTED(requested), COMPLETED(lambda *_: None)
assert cupti.cuptiActivityRegisterCallbacks(request, complete) == 0
for _ in range(3): job.step()
torch.cuda.synchronize()
cupti.cuptiActivityFlushAll(1)
assert not asked
subscriber = ctypes.c_void_p()
assert cupti.cuptiSubscribe(ctypes.byref(subscriber), None, None) == 0
last = ctypes.c_uint64()
assert cupti.cuptiActivityPopExternalCorrelationId(5, ctypes.byref(last)) == 18, "nothing is pushed"
""")


@pytest.mark.parametrize("turns", [1, 2])
def test_a_profile_after_recording_is_whole(turns):
    run(TORCH + f"""
enable(cupti=1)
job = plan(Job())
for _ in range({turns}):
    with profile(activities=BOTH) as profiled:
        job.step()
        torch.cuda.synchronize()
    assert whole(profiled), kernels(profiled)
""")


def test_recording_after_a_profile_has_the_times_of_kernels():
    """The profiler leaves a clock of its own behind: CUPTI's times are ticks of the processor from then on."""
    run(TORCH + """
job = Job()
with profile(activities=BOTH):
    job.step()
    torch.cuda.synchronize()
enable(cupti=1)
plan(job)
assert set(timed_by()) == {"cupti"}, timed_by()
losses = device()["activity_losses"]
assert losses["dropped"] == losses["uncorrelated"] == 0, losses
with profile(activities=BOTH) as profiled:
    job.step()
    torch.cuda.synchronize()
assert whole(profiled), kernels(profiled)
""")


@pytest.mark.parametrize("hook", [True, False])  # False: as where only the preload shim is there
@pytest.mark.parametrize("schedule", [False, True])
def test_a_profile_during_recording_is_whole_and_the_job_is_planned(schedule, hook):
    """It may begin with a warm-up, in which CUPTI is its already."""
    out = run(TORCH + f"""
from stowage import _profiler
if {hook}: _profiler.make_room(lib)
enable(cupti=1)
job = Job()
def mixed():
    return set(device().get("op_times", {{}}))
for _ in range(4): job.step()
assert state() == "recording"
wanted = torch.profiler.schedule(wait=0, warmup=1, active=1, repeat=1) if {schedule} else None
with profile(activities=BOTH, schedule=wanted) as profiled:
    for _ in range(2):
        job.step()
        torch.cuda.synchronize()
        if {schedule}: profiled.step()
assert whole(profiled, 1 if {schedule} else 2), kernels(profiled)
plan(job)
assert "events" in mixed(), device()
with profile(activities=BOTH) as profiled:
    job.step()
    torch.cuda.synchronize()
assert whole(profiled), kernels(profiled)
""")
    assert ("unknown buffer" in out) != hook, out


@pytest.mark.parametrize("errors, said", [
    ("cuptiActivityEnable:35", "cuptiActivityEnable"), ("cuptiGetVersion:999", "cuptiGetVersion"),
    ("cuptiActivityRegisterCallbacks:15", "cuptiActivityRegisterCallbacks")])
def test_a_refusal_is_one_warning_and_events_take_over(errors, said):
    out = run(TORCH + "enable(cupti=1); plan(Job()); assert set(timed_by()) == {'events'}, timed_by()",
              STOWAGE_SIM_CUPTI_ERRORS=errors)
    warnings = [line for line in out.splitlines() if "stowage: warning" in line]
    assert len(warnings) == 1 and said in warnings[0] and "CUDA events" in warnings[0], out


def test_an_attached_tool_keeps_cupti_to_itself():
    out = run(TORCH + """
os.environ["CUDA_INJECTION64_PATH"] = "libToolsInjection64.so"
enable(cupti=1); plan(Job()); assert set(timed_by()) == {'events'}, timed_by()
""")
    assert "CUDA_INJECTION64_PATH" in out


@pytest.mark.parametrize("faults, count", [("untimed:5", "untimed"), ("reversed:5", "untimed"), ("unknown:40", "unknown"),
                                           ("drop:2", "dropped")])
def test_records_that_are_missing_or_wrong_are_counted_and_the_job_is_planned(faults, count):
    run(TORCH + f"""
enable(cupti=1)
plan(Job())
losses = device()["activity_losses"]
assert losses[{count!r}] > 0, losses
""", STOWAGE_SIM_CUPTI_FAULTS=faults)
