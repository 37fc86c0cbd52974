"""The report of a CUDA session tells what PyTorch tells."""
from simulated_job import run


def test_peak_live_is_the_jobs_own():
    """A model that was copied from the CPU once counted twice: the copies' sources were taken for device memory."""
    run("""
enable()
job = plan(Job())
torch.cuda.reset_peak_memory_stats()
job.step(); job.step()
peak = torch.cuda.max_memory_allocated()
told = device()["peak_live_bytes"]
assert abs(told - peak) <= 0.01 * peak, (told, peak)
""")
