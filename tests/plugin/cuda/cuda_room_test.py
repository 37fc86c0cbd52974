"""A request that fits without Stowage fits with it: what nobody uses of the arena goes back to the device."""
import pytest
from simulated_job import run

ROOM = """
MiB = 1 << 20
def empty(mebibytes):
    return torch.empty(mebibytes * MiB, dtype=torch.uint8, device="cuda")
def used():
    free, total = torch.cuda.mem_get_info()
    return total - free
def job():
    made = Job(1024)
    made.input = torch.zeros(4096, 1024, device="cuda")
    return made
"""


def run_job(snippet, memory="512MiB", **environment):
    return run(ROOM + snippet, STOWAGE_SIM_MEMORY=memory, **environment)


def test_a_request_that_fits_beside_what_is_in_use_is_served_and_the_plan_goes_on():
    run_job("""
enable(); job = plan(job())
job.optimizer.zero_grad()
seen = []
torch._C._cuda_attach_out_of_memory_observer(lambda *about: seen.append(about))
arena = device()["arena_bytes"]
big = torch.cuda.mem_get_info()[1] // MiB - arena // MiB // 2 - torch.cuda.memory_allocated() // MiB
x = empty(big)
assert 0 < torch.cuda.memory_reserved() <= 512 * MiB and device()["arena_bytes"] < arena, device()
assert not seen and torch.cuda.memory_stats()["num_ooms"] == 0
del x
for _ in range(3): job.step()
assert state() == "planned"
before = device(); job.step(); after = device()
assert after["hits"] > before["hits"] and after["misses"] == before["misses"], (before, after)
assert after["arena_bytes"] > 0
""")


def test_an_evaluation_with_larger_batches_fits():
    run_job("""
enable(); job = plan(job())
for _ in range(4):
    for _ in range(5): job.step()
    job.optimizer.zero_grad()
    with torch.no_grad(): job.model(torch.zeros(20000, 1024, device="cuda"))
for _ in range(3): job.step()
assert state() == "planned", report()
before = device(); job.step(); after = device()
assert after["misses"] == before["misses"], (before, after)
""")


@pytest.mark.parametrize("pool", [False, True])
def test_what_is_live_in_the_arena_stays_where_it_is(pool):
    run_job(f"""
enable(); job = plan(job())
job.optimizer.zero_grad()
loss = job.forward(); at = loss.data_ptr(); del loss
y = job.model[0](job.input); where = y.data_ptr()
del y
kept = job.model[0](job.input)
torch.cuda.empty_cache()
big = torch.cuda.mem_get_info()[0] // MiB - 8
import contextlib
with torch.cuda.use_mem_pool(torch.cuda.MemPool()) if {pool} else contextlib.nullcontext(): x = empty(big)
kept.sum(); del kept, x
job.step()
""")


def test_a_block_that_another_stream_uses_is_waited_for_before_the_error():
    run_job("""
enable(); job = plan(job())
job.optimizer.zero_grad()
side = torch.cuda.Stream()
y = job.model[0](job.input).detach()
assert device()["arena_live_bytes"] >= 16 * MiB, device()
torch.cuda.empty_cache()
spare = max(s["total_size"] - s["allocated_size"] for s in torch.cuda.memory_snapshot()
            if s["stream"] == 0 and s["segment_type"] == "large")  # of a page that something lies in
big = (torch.cuda.mem_get_info()[0] + spare) // MiB + 8
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side): torch.cuda._sleep(1)
y.record_stream(side)
del y
assert not side.query()
x = empty(big)
assert side.query() and torch.cuda.memory_stats()["num_ooms"] == 0
del x
""", STOWAGE_SIM_LAUNCH_NS=str(10**9))


def test_empty_cache_gives_idle_memory_of_the_arena_back():
    run_job("""
enable(); job = plan(job())
job.optimizer.zero_grad()
before = used()
arena = device()["arena_bytes"]
torch.cuda.empty_cache()
assert device()["arena_bytes"] == 0 and used() <= before - arena, (device(), before, used())
assert torch.cuda.memory_reserved() == sum(s["total_size"] for s in torch.cuda.memory_snapshot())
for _ in range(2): job.step()
hits = device(); job.step(); now = device()
assert now["hits"] > hits["hits"] and now["misses"] == hits["misses"] and now["arena_bytes"] > 0, (hits, now)
""")


def test_an_error_that_is_an_error_is_told_once_and_by_pytorch():
    run_job("""
enable(); job = plan(job())
seen = []
torch._C._cuda_attach_out_of_memory_observer(lambda *about: seen.append(about))
for _ in range(2):
    try: empty(4096)
    except torch.OutOfMemoryError as error: assert "of its plan" in str(error), error
    else: raise SystemExit("no error")
assert len(seen) == 2 and torch.cuda.memory_stats()["num_ooms"] == 2, (seen, torch.cuda.memory_stats()["num_ooms"])
for _ in range(3): job.step()
assert state() == "planned"
""")


def test_a_job_that_ended_holds_no_memory_after_empty_cache():
    run_job("""
import gc
enable(); base = used(); job = plan(job())
del job; gc.collect(); torch._C._cuda_clearCublasWorkspaces(); torch.cuda.empty_cache()
assert torch.cuda.memory_allocated() == 0 and used() - base <= 2 * MiB, (used() - base) / MiB
""")


def test_a_disabled_session_keeps_only_the_pages_that_are_in_use():
    run_job("""
import gc
enable(); base = used(); job = plan(job())
job.optimizer.zero_grad()
scalar = job.forward().detach()
gc.collect()
disable()
assert device()["arena_bytes"] <= 4 * MiB, device()
assert torch.cuda.memory_reserved() == sum(s["total_size"] for s in torch.cuda.memory_snapshot())
del scalar, job; gc.collect(); torch._C._cuda_clearCublasWorkspaces(); torch.cuda.empty_cache()
assert used() - base <= 2 * MiB and torch.cuda.memory_reserved() == 0, (used() - base, torch.cuda.memory_reserved())
""")


def test_after_disabling_an_idle_arena_is_gone_without_empty_cache():
    run_job("""
import gc
enable(); job = plan(job())
job.optimizer.zero_grad(); gc.collect()
before, arena = used(), device()["arena_bytes"]
disable()
assert used() <= before - arena, (before, used(), arena)
""")
