"""PyTorch's own expectations of its CUDA allocator, with Stowage in its place and a plan in use."""
import pytest
from simulated_job import run

INSTALL_TIMES = {"before CUDA": "", "after CUDA": "torch.zeros(1, device='cuda')\n"}


@pytest.mark.parametrize("when", INSTALL_TIMES)
def test_reaches_a_plan_without_misses(when):
    run(INSTALL_TIMES[when] + """
enable()
assert torch.cuda.memory.get_allocator_backend() == "stowage"
job = plan(Job())
before = device()
for _ in range(3): job.step()
after = device()
assert after["misses"] == before["misses"], (before, after)
assert after["hits"] > before["hits"]
""")


def test_statistics_stay_true_in_planned_mode():
    run("""
enable()
job = plan(Job())
base = torch.cuda.memory_allocated()
blocks = torch.cuda.memory_stats()["allocation.all.current"]
assert torch.cuda.memory_reserved() >= device()["arena_bytes"] > 0
loss = job.forward()                       # activations lie in the arena
held = torch.cuda.memory_allocated()
assert held > base
stats = torch.cuda.memory_stats()
for kind in ("allocation", "allocated_bytes", "requested_bytes", "reserved_bytes"):
    assert stats[f"{kind}.all.current"] == sum(stats[f"{kind}.{pool}_pool.current"] for pool in ("small", "large")), kind
    assert stats[f"{kind}.all.peak"] >= stats[f"{kind}.all.current"], kind
for kind in ("allocation", "allocated_bytes"):
    assert stats[f"{kind}.all.allocated"] - stats[f"{kind}.all.freed"] == stats[f"{kind}.all.current"], kind
assert torch.accelerator.memory_allocated() == held
assert torch.accelerator.memory_reserved() == torch.cuda.memory_reserved()
del loss
assert torch.cuda.memory_allocated() == base
assert torch.cuda.memory_stats()["allocation.all.current"] == blocks
torch.cuda.memory_summary()
""")


def test_peaks_are_those_of_upstream_and_arena_together():
    run("""
enable()
job = plan(Job())
torch.cuda.reset_peak_memory_stats()
assert torch.cuda.max_memory_allocated() == torch.cuda.memory_allocated()
job.optimizer.zero_grad()
loss = job.forward()
highest = torch.cuda.memory_allocated()
del loss
assert torch.cuda.max_memory_allocated() >= highest > torch.cuda.memory_allocated()
torch.cuda.reset_peak_memory_stats()
assert torch.cuda.max_memory_allocated() < highest
torch.cuda.reset_accumulated_memory_stats()
stats = torch.cuda.memory_stats()
assert stats["allocated_bytes.all.allocated"] == 0 and stats["allocation.all.freed"] == 0
""")


def test_a_peak_from_before_the_switch_is_remembered_until_it_is_reset():
    run("""
enable()
job = Job()
job.step()
extra = torch.empty(512 << 20, dtype=torch.uint8, device="cuda")
highest = torch.cuda.memory_allocated()
del extra
plan(job)
assert highest <= torch.cuda.max_memory_allocated() <= highest + (1 << 20)
torch.cuda.reset_peak_memory_stats()
job.step()
assert torch.cuda.max_memory_allocated() < highest - (256 << 20)
""")


def test_snapshot_has_the_arena_with_its_live_blocks():
    run("""
enable()
job = plan(Job())
loss = job.forward()
segments = torch.cuda.memory._snapshot()["segments"]
of_loss = lambda segment: any(block["address"] == loss.data_ptr() for block in segment["blocks"])
arena = [s for s in segments if s["total_size"] == device()["arena_bytes"] and of_loss(s)]
assert len(arena) == 1, (device()["arena_bytes"], [(s["stream"], s["total_size"]) for s in segments])
arena = arena[0]
assert sum(b["size"] for b in arena["blocks"]) == arena["total_size"]
live = [b for b in arena["blocks"] if b["state"] == "active_allocated"]
assert live and sum(b["size"] for b in live) == arena["allocated_size"]
assert sum(s["allocated_size"] for s in segments) == torch.cuda.memory_allocated()
assert sum(s["total_size"] for s in segments) == torch.cuda.memory_reserved()
""")


def test_empty_cache_gives_back_upstreams_and_what_is_idle_of_the_arena():
    run("""
enable()
job = plan(Job())
x = torch.empty(64 << 20, device="cuda"); del x
reserved = torch.cuda.memory_reserved()
torch.cuda.empty_cache()
assert device()["arena_bytes"] <= torch.cuda.memory_reserved() <= reserved - (64 << 20)
torch.accelerator.empty_cache()
job.step()
""")


def test_out_of_memory_is_pytorchs_own_error_and_the_job_survives_it():
    run("""
enable()
job = plan(Job())
try:
    torch.empty(1 << 50, device="cuda", dtype=torch.uint8)
    raise SystemExit("no error")
except torch.OutOfMemoryError as error:
    assert "Tried to allocate" in str(error), error
    assert "Stowage holds" in str(error), error
assert torch.cuda.memory_stats()["num_ooms"] == 1
job.step()
""")


def test_uninstall_gives_pytorch_its_allocator_back_and_frees_still_work():
    run("""
enable()
job = plan(Job())
loss = job.forward()
disable()
assert torch.cuda.memory.get_allocator_backend() == "native"
held = torch.cuda.memory_allocated()
y = torch.ones(1 << 20, device="cuda")
assert torch.cuda.memory_allocated() == held + (4 << 20)
del loss, y
assert torch.cuda.memory_allocated() < held
for _ in range(3): job.step()
enable()
assert torch.cuda.memory.get_allocator_backend() == "stowage"
plan(job)
""")


def test_tensors_from_before_the_install_are_freed_upstream():
    run("""
x = torch.zeros(1 << 20, device="cuda")
s = torch.cuda.Stream()
enable()
held = torch.cuda.memory_allocated()
x.record_stream(s)
del x
torch.cuda.synchronize()
assert torch.zeros(1, device="cuda") is not None
assert torch.cuda.memory_allocated() < held
""")


@pytest.mark.parametrize("planned", [False, True])
def test_record_stream_keeps_memory_until_the_other_stream_is_past_it(planned):
    run(f"planned = {planned}\n" + """
enable()
job = Job()
if planned: plan(job)
side = torch.cuda.Stream()
if planned:
    hits = device()["hits"]
    job.optimizer.zero_grad()              # its slots hold gradients until then
    x = job.model[0](job.input)            # what the plan has next
    assert device()["hits"] > hits
else:
    x = torch.empty(1 << 20, device="cuda")
active = torch.cuda.memory_stats()["active_bytes.all.current"]
with torch.cuda.stream(side):
    for _ in range(2000): y = x * 2.0      # keeps the side stream busy
x.record_stream(side)
size = x.untyped_storage().nbytes()
before = torch.cuda.memory_stats()
del x
after = torch.cuda.memory_stats()
assert before["allocated_bytes.all.current"] - after["allocated_bytes.all.current"] >= size
assert before["active_bytes.all.current"] == after["active_bytes.all.current"], "still in use by the side stream"
""")


def test_mempool_is_upstreams():
    run("""
enable()
job = plan(Job())
hits = device()["hits"]
pool = torch.cuda.MemPool()
with torch.cuda.use_mem_pool(pool):
    x = torch.ones(1 << 20, device="cuda")
assert device()["hits"] == hits
assert pool.snapshot()[0]["allocated_size"] >= 4 << 20
del x
del pool
job.step()
""")


def test_profiler_sees_arena_memory():
    run("""
enable()
job = plan(Job())
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as prof:
    job.step()
assert any(event.device_memory_usage > 0 for event in prof.events())
""")


def test_cache_info_fraction_history_and_ipc():
    run("""
enable()
job = plan(Job())
hits = device()["hits"]
job.optimizer.zero_grad()                  # as an iteration begins: its slots hold gradients until then
h = job.model[0](job.input)                # what the plan has next
assert device()["hits"] > hits
torch.cuda.set_per_process_memory_fraction(0.5)
assert torch.cuda.get_per_process_memory_fraction() == 0.5
torch.cuda.memory._record_memory_history(max_entries=100)
x = torch.ones(3 << 20, device="cuda")
assert torch.cuda.memory._snapshot()["device_traces"][0]
torch.cuda.memory._record_memory_history(enabled=None)
try:
    h.untyped_storage()._share_cuda_()
    raise SystemExit("shared an arena tensor")
except RuntimeError as error:
    assert "STOWAGE_ARENA=malloc" in str(error), error
""")


def test_expandable_segments_unless_the_user_chose_otherwise():
    probe = """
enable()
x = torch.zeros(1, device="cuda")
print("expandable", torch.cuda.memory._snapshot()["allocator_settings"]["expandable_segments"])
"""
    assert "expandable True" in run(probe)
    assert "expandable True" in run(probe, PYTORCH_CUDA_ALLOC_CONF="max_split_size_mb:64")
    assert "expandable False" in run(probe, PYTORCH_CUDA_ALLOC_CONF="expandable_segments:False")


def test_nothing_is_left_of_a_session_that_gave_up():
    output = run("""
enable(record_iterations=4, online=0)
parameter = torch.nn.Parameter(torch.zeros(1000, device="cuda"))
optimizer = torch.optim.SGD([parameter])
def expandable():
    return torch.cuda.memory._snapshot()["allocator_settings"]["expandable_segments"]
def unlike(numbers):
    for i in numbers:
        x = torch.zeros(i << 20, device="cuda")
        parameter.grad = torch.zeros_like(parameter)[:]
        y = [torch.zeros(1 << 10, device="cuda") for _ in range(i)]
        optimizer.step()
    return x
x = unlike([1, 2, 3])
assert expandable() and torch.cuda.memory.get_allocator_backend() == "stowage"
x = unlike([4, 5])
assert state() == "off", report()
assert expandable() and torch.cuda.memory.get_allocator_backend() == "native"
held = torch.cuda.memory_allocated()
del x
assert torch.cuda.memory_allocated() == held - (20 << 20)
enable(record_iterations=50)  # asking again is another try
plan(Job())
disable()
assert not expandable()
""")
    assert output.count("goes on without a plan") == 1, output


@pytest.mark.parametrize("variable, value, says", [
    ("PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync", "cudaMallocAsync"),
    ("PYTORCH_NO_CUDA_MEMORY_CACHING", "1", "PYTORCH_NO_CUDA_MEMORY_CACHING"),
])
def test_refuses_what_it_cannot_wrap(variable, value, says):
    run(f"""
assert lib.stowage_enable(b"devices=cuda") != 0
assert {says!r} in lib.stowage_last_error().decode(), lib.stowage_last_error()
assert torch.cuda.memory.get_allocator_backend() != "stowage"
""", **{variable: value})


def test_version_mismatch_is_a_sentence():
    run("""
assert lib.stowage_check_torch(torch.__version__.encode()) is None
assert b"9.9.0" in lib.stowage_check_torch(b"9.9.0")
""")


def test_optimizer_state_lies_close_and_apart_from_gradients():
    """Else it settles between the gradients, and pages that are mostly holes stay with the job for good."""
    run("""
enable()
job = Job(width=640)  # 512 would make tensors of the size of a cuBLASLt workspace
job.step()
tensors = {"state": [t for s in job.optimizer.state.values() for t in s.values() if t.is_cuda],
           "gradients": [p.grad for p in job.model.parameters()]}
def segments_of(kind):
    starts = {t.data_ptr() for t in tensors[kind]}
    return {s["address"] for s in torch.cuda.memory._snapshot()["segments"]
            if starts & {block["address"] for block in s["blocks"]}}
assert segments_of("state") and segments_of("gradients"), tensors
assert not segments_of("state") & segments_of("gradients")
plan(job)
job.optimizer.zero_grad()
home = [s for s in torch.cuda.memory._snapshot()["segments"] if s["address"] in segments_of("state")]
holes = sum(s["total_size"] - s["allocated_size"] for s in home)
assert holes <= (12 + 2 + 2) * 2**20, home  # a large page and two small ones at the ends
job.step()
assert device()["last_iteration_misses"] == 0, device()
""")


ON_WHICH_STREAM = """
def streams_of(tensors):
    starts = {t.data_ptr() for t in tensors}
    return {s["stream"] for s in torch.cuda.memory._snapshot()["segments"]
            if starts & {block["address"] for block in s["blocks"]}}
DEFAULT, LASTING = {0}, {1}
"""


def test_parameters_lie_with_whatever_else_lasts():
    """Else the last page of either is partly used."""
    run(ON_WHICH_STREAM + """
enable()
job = Job(width=640)
large = lambda tensors: [t for t in tensors if t.numel() * 4 > 2**20]
assert streams_of(large(job.model.parameters())) == LASTING
job.step()
moments = [t for s in job.optimizer.state.values() for t in s.values() if t.is_cuda]
assert streams_of(large(moments)) == LASTING
assert streams_of(large(p.grad for p in job.model.parameters())) == DEFAULT
plan(job)
assert device()["last_iteration_misses"] == 0, device()
""")


def test_only_a_jobs_first_allocations_without_gradients_are_parameters():
    run(ON_WHICH_STREAM + """
enable()
batch = torch.zeros(2**19, device="cuda")
small = torch.nn.Linear(64, 64).cuda()
with torch.inference_mode():
    inferred = torch.zeros(2**19, device="cuda")
assert streams_of([batch, inferred, *small.parameters()]) == DEFAULT
assert streams_of([torch.nn.Linear(640, 640).cuda().weight]) == LASTING  # which is freed here
assert streams_of([torch.nn.Linear(640, 640).cuda().weight]) == DEFAULT
""")


def test_parameters_of_a_job_under_a_budget_lie_where_it_can_evict_around_them():
    run(ON_WHICH_STREAM + """
enable(budget="1GiB")
assert streams_of([torch.nn.Linear(640, 640).cuda().weight]) == DEFAULT
""")
