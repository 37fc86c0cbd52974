"""set_per_process_memory_fraction: the arena counts, whenever it is set, and the user reads what he set."""
import pytest
from simulated_job import run

# A job whose plan is some 60 MiB high, on a device of 1 GiB.
MEMORY = "1GiB"
FRACTION = """
MiB = 1 << 20
total = torch.cuda.mem_get_info()[1]
def set_limit(mebibytes):
    torch.cuda.set_per_process_memory_fraction(mebibytes * MiB / total)
def fill():
    held = []
    try:
        while len(held) < 1000: held.append(torch.empty(2 * MiB, dtype=torch.uint8, device="cuda"))
    except torch.OutOfMemoryError: return held
    raise SystemExit("no limit")
def job():
    made = Job(1024)
    made.input = torch.zeros(4096, 1024, device="cuda")
    return made
"""


def run_job(snippet):
    return run(FRACTION + snippet, STOWAGE_SIM_MEMORY=MEMORY)


@pytest.mark.parametrize("when", ["before", "after"])
def test_arena_and_upstream_together_stay_within_the_fraction(when):
    run_job(f"""
if {when!r} == "before": set_limit(400)
enable(); job = plan(job())
set_limit(400)
assert device()["arena_bytes"] > 0
held = fill()
assert torch.cuda.memory_reserved() <= 400 * MiB, torch.cuda.memory_reserved() / MiB
assert torch.cuda.memory_reserved() > 360 * MiB, torch.cuda.memory_reserved() / MiB
""")


def test_the_error_names_the_fraction_that_the_user_set():
    run_job("""
set_limit(400)
enable(); job = plan(job())
try: torch.empty(800 * MiB, dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError as error: assert "400.00 MiB allowed, with the arena;" in str(error), error
else: raise SystemExit("no error")
""")


def test_the_user_reads_the_fraction_that_he_set():
    run_job("""
get = torch.cuda.get_per_process_memory_fraction
assert get() == 1
torch.cuda.set_per_process_memory_fraction(0.5)
enable(); job = plan(job())
assert get() == 0.5
torch.cuda.set_per_process_memory_fraction(0.75); assert get() == 0.75
for wrong in (-0.1, 1.5):
    try: torch.cuda.set_per_process_memory_fraction(wrong)
    except (ValueError, RuntimeError): continue
    raise SystemExit("no error")
assert get() == 0.75
disable(); assert get() == 0.75
""")


def test_without_a_plan_the_whole_fraction_is_upstreams_again():
    run_job("""
set_limit(400)
enable(); job = plan(job()); disable()
del job
import gc; gc.collect(); torch.cuda.synchronize(); torch.cuda.empty_cache()
held = fill()
assert 360 * MiB < torch.cuda.memory_reserved() <= 400 * MiB, torch.cuda.memory_reserved() / MiB
""")


# Without a plan the user's own settings are back, without expandable segments: with torch 2.15 that takes 4 MiB more.
def test_a_plan_that_the_fraction_has_no_room_for_is_refused():
    run_job("""
enable()
job = job(); job.step()
least = torch.cuda.max_memory_allocated()
ballast = torch.empty(128 * MiB, dtype=torch.uint8, device="cuda")
for _ in range(20):
    set_limit(64)            # less than there is: nothing new may be reserved
    try: job.step()
    except torch.OutOfMemoryError: pass
    set_limit(1000)
    job.step()
""")
    run_job("""
job = job()
enable()
for _ in range(3): job.step()
set_limit(torch.cuda.memory_reserved() / MiB + 8)
for _ in range(10): job.step()
assert torch.cuda.memory_reserved() <= torch.cuda.get_per_process_memory_fraction() * total + 1
""")
