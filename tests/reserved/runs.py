"""Runs jobs of tests/reserved/jobs.py in processes of their own, on the simulated device or the CPU."""

import json
import pathlib
from dataclasses import dataclass

from tests.environment import without
from tests.plugin.cuda import simulated_job
from tests.warm import client

ROOT = pathlib.Path(__file__).resolve().parents[2]
SETTINGS = {
    "native": {},
    "expandable": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
    "stowage": {"STOWAGE": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "1"},
}


@dataclass
class Outcome:
    reserved: int  # bytes, the most in the last third of the iterations; 0 on the CPU
    allocated: int  # bytes of tensors, likewise
    digest: str  # of losses and parameters
    report: dict  # Stowage's; empty without it
    errors: str  # standard error


def run(job: str, setting: str, device: str = "cuda", iterations: int = 60, size: str = "usual", **extra: str) -> Outcome:
    """Raises RuntimeError with the job's output if it fails."""
    environment = simulated_job.environment() if device == "cuda" else without("STOWAGE", "PYTORCH_")
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "python"), "RESERVED_SIZE": size}
    environment |= SETTINGS[setting] | extra
    done = client.run(str(ROOT / "tests/reserved/jobs.py"), job, device, str(iterations), environment=environment)
    if done.returncode != 0:
        raise RuntimeError(f"{job} under {setting} on {device}: exit status {done.returncode}: {done.stderr[-2000:]}")
    return Outcome(**json.loads(done.stdout.splitlines()[-1]), errors=done.stderr)
