"""Budgets with a spill file through the front door: jobs that are parameters and optimizer state for the most part."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from tests.budget.runs import ROOT, differences, run, under
from tests.environment import without
from tests.python.doors import python

# The least percent of each one's own peak among 50, 33 and 20 that leaves room for its largest op.
HEAVY = {"wgan": 33, "autoencoder": 50, "fine_tuning": 20, "experts": 20, "translator": 50, "low_rank_adapters": 33}
# A large activation of these can be copied, but not made again, beside an op of the backward pass.
HEAVY |= {"large_resnet18": 50, "large_densenet": 33}


@pytest.fixture(scope="module")
def plain() -> dict[str, dict]:
    return run(*HEAVY)


@pytest.mark.parametrize("name", list(HEAVY))
def test_the_same_bits_where_recomputation_alone_cannot_help(name, plain, tmp_path):
    left = under(name, f"{HEAVY[name]}%", STOWAGE_SPILL=str(tmp_path))
    assert not left["error"], left["error"]
    budget = left["report"]["budget"]
    assert differences(plain[name], left) == []
    assert 0 < budget["peak_held_bytes"] <= budget["limit_bytes"]
    assert budget["offloads"] > 0 and budget["fetches"] > 0
    assert os.listdir(tmp_path) == []


def test_the_least_budget_is_found(plain, tmp_path):
    """It is what the largest op needs, whatever the job holds."""
    left = under("fine_tuning", "least", iterations=14, STOWAGE_SPILL=str(tmp_path))
    assert not left["error"], left["error"]
    budget = left["report"]["budget"]
    assert budget["peak_held_bytes"] <= budget["limit_bytes"] < 0.2 * budget["own_peak_bytes"]
    less = under("fine_tuning", str(int(0.9 * budget["limit_bytes"])), STOWAGE_SPILL=str(tmp_path))
    assert "in use by the running op (aten::" in less["error"]
    same = under("fine_tuning", "least", STOWAGE_SPILL=str(tmp_path))
    assert differences(plain["fine_tuning"], same) == []


def test_without_a_spill_file_the_least_is_what_recomputation_can_do():
    left = under("deep_perceptron", "least")
    assert not left["error"], left["error"]
    budget = left["report"]["budget"]
    assert budget["offloads"] == 0 and budget["limit_bytes"] < 0.5 * budget["own_peak_bytes"]


def test_a_folder_that_cannot_be_used_is_one_warning():
    left = under("deep_perceptron", "60%", STOWAGE_SPILL="/nowhere/at/all")
    assert not left["error"]
    assert left["stderr"].count("STOWAGE_SPILL") == 1
    assert "no spill file can be made in /nowhere/at/all: No such file or directory; nothing is offloaded" in left["stderr"]


@pytest.mark.skipif(not os.path.ismount("/dev/shm"), reason="there is no tmpfs here")
def test_a_folder_in_memory_is_told():
    left = under("deep_perceptron", "60%", STOWAGE_SPILL="/dev/shm")
    assert not left["error"] and "lies in memory (tmpfs)" in left["stderr"]


LATE = """
import torch
model = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(8)))
optimizer = torch.optim.Adam(model.parameters())
def step():
    optimizer.zero_grad()
    model(torch.ones(4, 512)).square().mean().backward()
    optimizer.step()
step()
import stowage
stowage.enable(devices="cpu", budget="8MiB", spill=FOLDER)
for _ in range(4):
    step()
budget = stowage.report()["budget"]
print(budget["offloads"] > 20, budget["excess_bytes"], budget["peak_held_bytes"] <= 8 << 20)
"""


def test_what_is_there_before_a_late_enable_is_offloaded(tmp_path):
    """It holds 33 MB, of which no op has been seen."""
    done = python(f"FOLDER = {str(tmp_path)!r}\n{LATE}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", "0", "True"]


def spill_file_of(process: int) -> str:
    """What the process has open that is deleted and lies in the test's folder."""
    links = (os.readlink(one) for one in pathlib.Path(f"/proc/{process}/fd").iterdir() if one.is_symlink())
    return next((link for link in links if link.endswith("(deleted)")), "")


def test_a_killed_process_leaves_no_file(tmp_path):
    environment = without("STOWAGE") | {"PYTHONPATH": f"{ROOT}:{ROOT / 'python'}", "OMP_NUM_THREADS": "1", "STOWAGE": "1",
                                        "STOWAGE_DEVICES": "cpu", "STOWAGE_BUDGET": "3MiB", "STOWAGE_SPILL": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-m", "tests.budget.job", "100000", "fine_tuning"], env=environment, cwd=ROOT,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as job:
        for _ in range(600):
            if str(tmp_path) in spill_file_of(job.pid):
                break
            time.sleep(0.1)
        assert str(tmp_path) in spill_file_of(job.pid)
        time.sleep(1)
        job.send_signal(signal.SIGKILL)
    assert job.returncode == -signal.SIGKILL
    assert os.listdir(tmp_path) == []
