"""A share of the peak of jobs in which no optimizer steps: it becomes a limit, or one warning says that it does not."""

import pytest

from tests.python.doors import python

SETTINGS = {"STOWAGE": "1", "STOWAGE_DEVICES": "cpu", "STOWAGE_BUDGET": "60%"}

BEGIN = """
import hashlib, os, torch
from torch import nn
torch.manual_seed(1)
torch.set_num_threads(1)
digest = hashlib.sha256()
def left(*tensors):
    for tensor in tensors: digest.update(tensor.detach().double().sum().numpy().tobytes())
"""
END = """
if os.environ.get("STOWAGE"):
    import stowage
    budget = stowage.report()["budget"]
    assert 0 < budget["limit_bytes"] == budget["own_peak_bytes"] * 60 // 100, budget
    assert budget["peak_held_bytes"] <= budget["limit_bytes"] and budget["refusals"] == 0, budget
print(digest.hexdigest())
"""

GENERATION = """
embed, head = nn.Embedding(100, 64), nn.Linear(64, 100)
layers = nn.ModuleList(nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, dropout=0.0) for _ in range(4))
with torch.no_grad():
    for prompt in range(12):
        ids = torch.randint(100, (8, 16 + 8 * prompt))
        for _ in range(6):
            hidden = embed(ids)
            for layer in layers: hidden = layer(hidden)
            ids = torch.cat([ids, head(hidden[:, -1]).argmax(-1, keepdim=True)], 1)
        left(ids)
"""

FUNCTIONAL = """
weights = [(torch.randn(64, 64) * 0.1).requires_grad_() for _ in range(16)]
for i in range(60):
    hidden = torch.randn(SIZE, 64)
    for weight in weights: hidden = torch.tanh(hidden @ weight)
    loss = hidden.square().mean()
    gradients = torch.autograd.grad(loss, weights)
    with torch.no_grad():
        weights = [(weight - 0.1 * gradient).requires_grad_() for weight, gradient in zip(weights, gradients)]
    left(loss, *weights)
"""

SERVER = """
model = nn.Sequential(*(layer for _ in range(16) for layer in (nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64))))
with torch.no_grad():
    for i in range(80): left(model(torch.randn((64, 128, 700, 1024)[i * i % 7 % 4], 64)))
"""

JOBS = {"functional training": FUNCTIONAL.replace("SIZE", "1024"),
        "functional training with batches of all sizes": FUNCTIONAL.replace("SIZE", "1024 - i * i % 11 * 32"),
        "an inference server": SERVER}


@pytest.mark.parametrize("job", JOBS)
def test_the_limit_comes_from_the_allocations_alone_and_the_bits_are_the_same(job):
    plain = python(BEGIN + JOBS[job] + END)
    done = python(BEGIN + JOBS[job] + END, **SETTINGS)
    assert done.returncode == 0, done.stderr
    assert done.stdout == plain.stdout
    # Inference holds little that could be evicted.
    assert done.stderr == "" or "estimated" in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_a_peak_that_keeps_growing_is_no_limit_and_one_warning_says_so():
    plain = python(BEGIN + GENERATION + "print(digest.hexdigest())")
    done = python(BEGIN + GENERATION + "print(digest.hexdigest())", **SETTINGS)
    assert done.returncode == 0 and done.stdout == plain.stdout, done.stderr
    assert done.stderr.count("\n") == 1 and "never took effect" in done.stderr, done.stderr


def test_a_job_that_ends_before_its_peak_is_known_has_one_warning():
    done = python("import torch; print(torch.ones(1 << 20).sum().item())", **SETTINGS)
    assert done.returncode == 0 and done.stdout.strip() == "1048576.0"
    assert done.stderr.count("\n") == 1
    assert "the budget of 60% never took effect" in done.stderr and "a budget in bytes" in done.stderr
