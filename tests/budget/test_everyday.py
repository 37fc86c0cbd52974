"""Ordinary programs (everyday.py) run at half of their own peak, or less than they need otherwise, with the same bits."""

import importlib.util
import re
import subprocess

import pytest

from tests.budget.everyday import JOBS
from tests.budget.runs import process

_SHARES = {"Checkpoints": "80%"}  # its peak is small as it is; the others: 50 %
_PACKAGES = {"SavesSafely": "safetensors", "LoadsSafely": "safetensors"}


def _under(budget: str, *command: str) -> subprocess.CompletedProcess:
    return process(*command, STOWAGE="1", STOWAGE_DEVICES="cpu", STOWAGE_BUDGET=budget)


@pytest.mark.parametrize("name", JOBS)
def test_an_everyday_job_runs_far_below_its_peak(name):
    if name in _PACKAGES and importlib.util.find_spec(_PACKAGES[name]) is None:
        pytest.skip(f"{_PACKAGES[name]} is not installed")
    plain = process("-m", "tests.budget.everyday", name)
    assert plain.returncode == 0, plain.stderr
    less = _under(_SHARES.get(name, "50%"), "-m", "tests.budget.everyday", name)
    assert less.returncode == 0, less.stderr[-2000:]
    assert less.stdout == plain.stdout


_UNITS = {"KiB": 1, "MiB": 1024}


def _parts_add_up(done: subprocess.CompletedProcess) -> None:
    """Of an error on standard output. Each figure is rounded up to whole units."""
    assert "would be enough here" in done.stdout, done.stdout + done.stderr[-2000:]
    held, unit, parts = re.search(r"Held: (\d+) (.iB), of these (.*) evictable", done.stdout).groups()
    sizes = [(int(size), _UNITS[of]) for size, of in re.findall(r"(\d+) (.iB)", parts)]
    unknown = _UNITS[unit] + sum(of for _, of in sizes)
    assert abs(sum(size * of for size, of in sizes) - int(held) * _UNITS[unit]) <= unknown, done.stdout


_TOO_SMALL = """
import torch
model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(4)))
model = {wrap}
try:
    for _ in range(4):
        model(torch.randn(4096, 64)).sum().backward()
except torch.OutOfMemoryError as error:
    print(error)
"""


# FSDP2 frees and refills the storages of gathered parameters by resize_().
_SHARDED = """
import os, torch, torch.distributed
torch.distributed.init_process_group("gloo", rank=0, world_size=1, store=torch.distributed.HashStore())
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 256))
                              for _ in range(4)))
for part in (*model, model):
    fully_shard(part, mesh=init_device_mesh("cpu", (1,)))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
try:
    for _ in range(5):
        optimizer.zero_grad()
        loss = model(torch.randn(1024, 256)).square().mean()
        loss.backward()
        optimizer.step()
        print(loss.item().hex())
except torch.OutOfMemoryError as error:
    print(error)
torch.distributed.destroy_process_group()
"""


def test_fsdp2_runs_with_the_same_bits():
    plain = process("-c", _SHARDED)
    for share in ("90%", "60%"):
        done = _under(share, "-c", _SHARDED)
        assert done.returncode == 0 and done.stdout == plain.stdout != "", done.stderr[-2000:]


def test_what_fsdp2_has_freed_is_not_counted():
    _parts_add_up(_under("8MiB", "-c", _SHARDED))


@pytest.mark.parametrize("wrap", ["model", "torch.jit.script(model)", "torch.jit.trace(model, torch.randn(2, 64))",
                                  "torch.compile(model, backend='aot_eager')"])
def test_the_error_says_what_is_held_in_parts_that_add_up(wrap):
    """It is an OutOfMemoryError from TorchScript's interpreter, too, which makes a RuntimeError of all others."""
    done = _under("2MiB", "-c", _TOO_SMALL.format(wrap=wrap))
    _parts_add_up(done)
