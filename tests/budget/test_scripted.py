"""Scripted and traced modules train at half of their own peak with the same bits: what the interpreter calls is seen."""

import subprocess

import pytest

from tests.budget.runs import process

_PERCEPTRON = "nn.Sequential(*(nn.Sequential(nn.Linear(64, 64), nn.GELU()) for _ in range(8)))"
_BLOCK = "nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.1))"
_CONVOLUTIONS = f"nn.Sequential(*({_BLOCK} for _ in range(6)))"
JOBS = {
    "script": ("(1024, 64)", f"torch.jit.script({_PERCEPTRON})"),
    "trace": ("(1024, 64)", f"torch.jit.trace({_PERCEPTRON}, torch.randn(1024, 64))"),
    "script of convolutions with dropout": ("(16, 8, 24, 24)", f"torch.jit.script({_CONVOLUTIONS})"),
}
_TRAINING = """
import torch
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)
model = {model}
optimizer = torch.optim.SGD(model.parameters(), 1e-2)
for _ in range(10):
    optimizer.zero_grad()
    loss = model(torch.randn{sizes}).square().mean()
    loss.backward()
    optimizer.step()
    print(loss.item().hex())
print([one.double().sum().item().hex() for one in model.state_dict().values()])
"""


def _run(name: str, **settings: str) -> subprocess.CompletedProcess:
    sizes, model = JOBS[name]
    return process("-c", _TRAINING.format(sizes=sizes, model=model), **settings)


@pytest.mark.parametrize("name", JOBS)
def test_a_scripted_module_trains_far_below_its_peak(name):
    plain = _run(name)
    assert plain.returncode == 0, plain.stderr
    less = _run(name, STOWAGE="1", STOWAGE_DEVICES="cpu", STOWAGE_BUDGET="50%")
    assert less.returncode == 0, less.stderr[-2000:]
    assert less.stdout == plain.stdout
    assert "never took effect" not in less.stderr
