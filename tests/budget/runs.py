"""Runs jobs of tests/budget/job.py, and small programs, in processes of their own."""

import json
import pathlib
import subprocess

from tests.environment import without
from tests.warm import client

ROOT = pathlib.Path(__file__).resolve().parents[2]
ITERATIONS = 10


def process(*words: str, timeout_s: float = 600, **settings: str) -> subprocess.CompletedProcess:
    """`python WORDS…`. `settings`: environment variables; none of the caller's STOWAGE* are passed on."""
    environment = without("STOWAGE") | {"OMP_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT}:{ROOT / 'python'}"} | settings
    return client.run(*words, environment=environment, timeout_s=timeout_s)


def run(*names: str, iterations: int = ITERATIONS, **settings: str) -> dict[str, dict]:
    """What each job left, by name."""
    done = process("-m", "tests.budget.job", str(iterations), *names, **settings)
    if done.returncode != 0:
        raise RuntimeError(f"{names} {settings}: exit status {done.returncode}: {done.stderr}")
    found = {left["name"]: left for left in map(json.loads, done.stdout.splitlines())}
    for left in found.values():
        left["stderr"] = done.stderr
    return found


def under(name: str, budget: str, iterations: int = ITERATIONS, **settings: str) -> dict:
    """One job through the front door."""
    return run(name, iterations=iterations, STOWAGE="1", STOWAGE_DEVICES="cpu", STOWAGE_BUDGET=budget, **settings)[name]


def differences(a: dict, b: dict) -> list[str]:
    a, b = a["digests"], b["digests"]
    return sorted(key for key in a.keys() | b.keys() if a.get(key) != b.get(key))


def of_two_lengths(iterations: int, shown: str) -> str:
    """A script: a perceptron whose batches are shorter from the fifteenth on; `shown` runs at the end of each length."""
    return f"""
import stowage, torch
torch.manual_seed(1)
model = torch.nn.Sequential(*(layer for _ in range(12) for layer in (torch.nn.Linear(64, 64), torch.nn.GELU())))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range({iterations}):
    model(torch.randn(1024 if i < 14 else 960, 64)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    if i in (13, {iterations - 1}):
        report = stowage.report()
        budget = report["budget"]
        {shown}
"""
