"""Graph captures and memory pools of the job's own, finished or not: planning goes on beside them and after them."""
import pytest
from simulated_job import run

FAILURES = {
    "a synchronising call": "y = torch.ones(1000, device='cuda'); y.sum().item()",
    "a synchronising call and nothing else": "torch.cuda.synchronize()",
    "an exception of the job's": "y = torch.ones(1000, device='cuda'); raise ValueError('of the job')",
}

# A failed capture leaves torch's current stream where it was: the job's own iterations go back to their stream.
CAPTURE = """
import gc
def fail():
    graph = torch.cuda.CUDAGraph()
    here = torch.cuda.current_stream()
    try:
        with torch.cuda.graph(graph):
            {body}
    except (RuntimeError, ValueError) as error:
        print(type(error).__name__)
    torch.cuda.set_stream(here)
"""

GOES_ON = """
before = device()
for _ in range(3): job.step()
after = device()
assert after["hits"] > before["hits"] and after["misses"] == before["misses"], (before, after)
"""


@pytest.mark.parametrize("kind", FAILURES)
def test_a_failed_capture_does_not_end_the_plan(kind):
    run(CAPTURE.format(body=FAILURES[kind]) + "enable(); job = plan(Job()); fail(); gc.collect()\n" + GOES_ON)


@pytest.mark.parametrize("kind", FAILURES)
def test_a_failed_capture_while_recording_does_not_keep_the_job_from_its_plan(kind):
    run(CAPTURE.format(body=FAILURES[kind]) + """
enable(); job = Job(); job.step(); fail(); gc.collect(); plan(job)
""" + GOES_ON)


def test_after_a_failed_capture_memory_goes_back_and_waiting_blocks_come_free():
    run(CAPTURE.format(body=FAILURES["a synchronising call"]) + """
enable(); job = plan(Job()); fail()
side = torch.cuda.Stream()
x = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
reserved = torch.cuda.memory_reserved()
x.record_stream(side); del x
torch.cuda.synchronize(); torch.cuda.empty_cache()
assert torch.cuda.memory_reserved() <= reserved - (64 << 20), torch.cuda.memory_summary()
""")


def test_the_same_pool_can_be_captured_into_after_a_failure():
    run("""
enable(); job = plan(Job())
pool, here = torch.cuda.graph_pool_handle(), torch.cuda.current_stream()
try:
    with torch.cuda.graph(torch.cuda.CUDAGraph(), pool=pool): torch.ones(10, device="cuda").item()
except RuntimeError: pass
torch.cuda.set_stream(here)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph, pool=pool): y = torch.ones(10, device="cuda")
graph.replay()
""" + GOES_ON)


def test_a_capture_of_a_whole_iteration_is_no_iteration_of_the_jobs():
    run("""
enable(); job = Job()
job.optimizer = torch.optim.Adam(job.model.parameters(), capturable=True)
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    for _ in range(2): job.step()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph, stream=side): job.step()
graph.replay()
assert state() == "recording", report()
plan(job)
""")


def test_a_pool_open_in_one_thread_leaves_the_others_to_the_plan():
    run("""
import threading
enable(); job = plan(Job())
opened, done = threading.Event(), threading.Event()
def hold():
    with torch.cuda.use_mem_pool(torch.cuda.MemPool()):
        x = torch.empty(1000, device="cuda"); opened.set(); done.wait()
thread = threading.Thread(target=hold, daemon=True); thread.start(); opened.wait()
""" + GOES_ON + "done.set(); thread.join()")


def test_pools_left_by_an_exception_or_never_finished_leave_nothing_behind():
    run("""
enable(); job = plan(Job())
def use():
    with torch.cuda.use_mem_pool(torch.cuda.MemPool()):
        yield torch.empty(1000, device="cuda")
try:
    with torch.cuda.use_mem_pool(torch.cuda.MemPool()):
        x = torch.empty(1000, device="cuda"); raise ValueError
except ValueError: pass
never = use(); y = next(never); del never
pool = torch.cuda.MemPool()
with torch.cuda.use_mem_pool(pool):
    z = torch.empty(1000, device="cuda"); del pool
del x, y, z
for _ in range(12): job.step()  # the pools' memory may exceed what was reserved before: a plan anew
assert state() == "planned", report()
""" + GOES_ON)


def test_exceptions_of_the_jobs_anywhere_in_an_iteration_do_not_end_the_plan():
    run("""
enable(); job = plan(Job())
class Refuses(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x.clone()
    @staticmethod
    def backward(ctx, g): raise ValueError("backward")
def fails(what):
    try: what()
    except (ValueError, RuntimeError): return
    raise SystemExit("no error")
def refuse(*_): raise ValueError("hook")
def in_hook(register):
    handle = register(refuse)
    try: job.step()
    finally: handle.remove()
for _ in range(2):
    fails(lambda: in_hook(job.model[2].register_forward_hook))
    fails(lambda: in_hook(job.model[2].register_full_backward_hook))
    fails(lambda: in_hook(job.model[2].weight.register_post_accumulate_grad_hook))
    fails(lambda: in_hook(job.optimizer.register_step_pre_hook))
    fails(lambda: in_hook(job.optimizer.register_step_post_hook))
    fails(lambda: Refuses.apply(job.forward()).backward())
for _ in range(6): job.step()
""" + GOES_ON)


def test_an_exception_in_an_out_of_memory_observer_is_the_jobs_alone():
    run("""
enable(); job = plan(Job())
def observe(device, alloc, total, free): raise ValueError("observer")
torch._C._cuda_attach_out_of_memory_observer(observe)
for _ in range(2):
    try: torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
    except (RuntimeError, ValueError): pass
    else: raise SystemExit("no error")
""" + GOES_ON)
