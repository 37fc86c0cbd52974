"""PyTorch's own profiler, unmodified, on the simulated device: kernels under their ops, with times, in each profile."""
import textwrap

PROFILE = """
import json
from torch.profiler import ProfilerActivity, profile
BOTH = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.empty(64, 256, device="cuda")
def step():
    model(x).sum().backward(); optimizer.step(); optimizer.zero_grad()
def device_time(profiled, name):
    return sum(e.device_time_total for e in profiled.key_averages() if e.key == name)
step()
"""


def script(body: str) -> str:
    return PROFILE + textwrap.dedent(body)


def test_ops_have_the_time_of_their_kernels(simulate):
    simulate(script("""
    with profile(activities=BOTH) as profiled:
        for _ in range(3): step()
        torch.cuda.synchronize()
    for name in ("aten::addmm", "aten::mm", "aten::relu", "aten::_foreach_add_", "AddmmBackward0"):
        assert device_time(profiled, name) > 0, name
    assert device_time(profiled, "aten::t") == 0
    gemms = [e for e in profiled.events() if e.name.startswith("simulated_gemm")]
    assert len(gemms) == 3 * 5, len(gemms)
    """))


def test_a_second_profile_is_as_whole_as_the_first(simulate):
    simulate(script("""
    def kernels():
        with profile(activities=BOTH) as profiled:
            step()
            torch.cuda.synchronize()
        return sorted(e.name for e in profiled.events() if e.device_type == torch.autograd.DeviceType.CUDA)
    first = kernels()
    assert len(first) > 10 and kernels() == first
    """))


def test_a_chrome_trace_has_calls_kernels_and_arrows(simulate):
    simulate(script("""
    import tempfile, os
    with profile(activities=BOTH) as profiled:
        step()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        profiled.export_chrome_trace(os.path.join(folder, "trace.json"))
        events = json.load(open(os.path.join(folder, "trace.json")))["traceEvents"]
    kernels = [e for e in events if e.get("cat") == "kernel"]
    calls = {e["args"]["correlation"]: e for e in events if e.get("cat") == "cuda_runtime"}
    assert kernels and all(k["args"]["correlation"] in calls for k in kernels)
    for kernel in kernels:
        assert kernel["ts"] >= calls[kernel["args"]["correlation"]]["ts"], "no kernel before its launch"
    assert [e for e in events if e.get("cat") == "ac2g" and e["ph"] == "f"]
    """))


def test_memory_is_profiled_beside_kernels(simulate):
    simulate(script("""
    with profile(activities=BOTH, profile_memory=True) as profiled:
        step()
        torch.cuda.synchronize()
    assert any(e.device_memory_usage > 0 for e in profiled.key_averages())
    assert device_time(profiled, "aten::addmm") > 0
    """))


def test_a_schedule_with_a_warm_up_shows_the_active_step_alone(simulate):
    simulate(script("""
    with profile(activities=BOTH, schedule=torch.profiler.schedule(wait=1, warmup=1, active=1, repeat=1)) as profiled:
        for _ in range(4):
            step()
            torch.cuda.synchronize()
            profiled.step()
    gemms = [e for e in profiled.events() if e.name.startswith("simulated_gemm")]
    assert len(gemms) == 5, len(gemms)
    """))


def test_two_runs_launch_the_same_kernels_for_the_same_time(simulate):
    """By the device's own count: nothing of it depends on the machine."""
    printing = script("""
    with profile(activities=BOTH) as profiled:
        step()
        torch.cuda.synchronize()
    names = [e.name for e in profiled.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    now = counters()
    print(sorted(names), now.device_ns, now.launches)
    """)
    assert simulate(printing) == simulate(printing)
