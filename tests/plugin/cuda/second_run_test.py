"""A second run on the simulated device is planned from its first allocation on, and reserves no more than the first one."""
import json

from tests.plugin.cuda.simulated_job import run

JOB = """
enable(plan_wait_ms=60000)
torch.manual_seed(0)
job = Job()
for _ in range(20):
    job.step()
print("told", json.dumps(device() | {"reserved": torch.cuda.max_memory_reserved()}))
"""


def told(folder) -> dict:
    out = run(JOB, STOWAGE_PLAN_CACHE=str(folder))
    return json.loads(next(line for line in out.splitlines() if line.startswith("told "))[5:])


def test_a_second_run_is_planned_from_its_first_allocation_on(tmp_path):
    first, second = told(tmp_path / "plans"), told(tmp_path / "plans")
    assert first["state"] == second["state"] == "planned"
    assert not first["planned_from_start"] and second["planned_from_start"]
    assert second["clean_iterations"] == second["iterations"] == 20 and sum(second["misses"].values()) == 0
    assert second["reserved"] <= first["reserved"]
