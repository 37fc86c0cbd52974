"""Runs small Python programs in processes of their own, with and without Stowage."""

import pathlib
import subprocess
import sys

from tests.environment import without
from tests.warm import client

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Trains a small model; prints digests of losses, parameters, gradients and RNG state, one line.
JOB = """
import hashlib, torch
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Dropout(0.1), torch.nn.Linear(64, 32))
optimizer = torch.optim.AdamW(model.parameters())
digest = hashlib.sha256()
for i in range(12):
    optimizer.zero_grad()
    loss = model(torch.randn(16, 32)).square().mean()
    loss.backward()
    optimizer.step()
    digest.update(loss.detach().numpy().tobytes())
for parameter in model.parameters():
    digest.update(parameter.detach().numpy().tobytes())
    digest.update(parameter.grad.numpy().tobytes())
digest.update(torch.get_rng_state().numpy().tobytes())
print("digest", digest.hexdigest())
"""


def python(program: str, *arguments: str, warm: bool = True, **settings: str) -> subprocess.CompletedProcess:
    """`settings` are environment variables; none of the caller's own STOWAGE* are passed on. `warm`: in a fork of a process
    that has imported torch."""
    environment = without("STOWAGE") | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "python")} | settings
    if warm:
        return client.run("-c", program, *arguments, environment=environment, timeout_s=300)
    return subprocess.run([sys.executable, "-c", program, *arguments], env=environment, cwd=ROOT, text=True,
                          capture_output=True, timeout=300)


def digest(done: subprocess.CompletedProcess) -> str:
    assert done.returncode == 0, done.stderr
    return next(line for line in done.stdout.splitlines() if line.startswith("digest"))
