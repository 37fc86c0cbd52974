"""Runs a snippet of a CUDA job in a process of its own, on the simulated device, with Stowage at hand.

Where something is to be preloaded, in one that imports torch itself; else in a fork of a warm one (tests/warm/client.py).

The snippet sees torch, lib (the C interface), enable(**settings), disable(), report(), state(), Job (a small training
job) and plan(job), which trains until the job is planned. It reports by assert; its output is returned.
"""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))
from tests.environment import without  # noqa: E402
from tests.warm import client  # noqa: E402

BUILD = pathlib.Path(os.environ.get("STOWAGE_BUILD", ROOT / "build"))
LIBRARY = BUILD / "lib" / "libstowage.so"
PRELOAD = BUILD / "lib" / "libstowage_preload.so"
SIMULATOR = BUILD / "simulator"

PRELUDE = '''
import ctypes, json, os, torch
torch.backends.cudnn.enabled = False
lib = ctypes.CDLL(os.environ["TEST_LIBRARY"])
for text in ("stowage_report", "stowage_last_error", "stowage_check_torch"):
    getattr(lib, text).restype = ctypes.c_char_p
def enable(**settings):
    settings.setdefault("devices", "cuda")
    settings.setdefault("plan_wait_ms", 5000)
    lines = "\\n".join(f"{k}={v}" for k, v in settings.items())
    assert lib.stowage_enable(lines.encode()) == 0, lib.stowage_last_error()
def disable():
    assert lib.stowage_disable() == 0, lib.stowage_last_error()
def report():
    return json.loads(lib.stowage_report())
def device():
    return [d for d in report()["devices"] if d["device"] == "cuda"][-1]
def state():
    return device()["state"]
class Job:
    def __init__(self, width=512):
        self.model = torch.nn.Sequential(*[m for _ in range(4) for m in
            (torch.nn.Linear(width, width), torch.nn.GELU())]).cuda()
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.input = torch.zeros(256, width, device="cuda")
    def forward(self):
        return self.model(self.input).square().mean()
    def step(self):
        self.optimizer.zero_grad()
        loss = self.forward()
        loss.backward()
        self.optimizer.step()
def plan(job, limit=20):
    for _ in range(limit):
        job.step()
        if report()["devices"] and state() == "planned":
            break
    assert state() == "planned", report()
    job.step(); job.step()
    return job
'''


def environment(preload=(), **extra):
    description = json.loads((SIMULATOR / "env.json").read_text())
    env = {k: v for k, v in without("STOWAGE", "PYTORCH_").items() if k not in description.get("unset", [])}
    fill = lambda text: text.replace("${SIMULATOR}", str(SIMULATOR))
    env.update({k: fill(v) for k, v in description.get("set", {}).items()})
    for key, value in description.get("prepend", {}).items():
        env[key] = ":".join(filter(None, [*map(str, preload), fill(value), env.get(key, "")]))
    env.update({"TEST_LIBRARY": str(LIBRARY), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})
    env.update(extra)
    return env


def run(snippet, prelude=PRELUDE, preload=(), expect=0, **extra):
    settings = environment(preload, **extra)
    if preload:
        done = subprocess.run([sys.executable, "-c", prelude + snippet], env=settings, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=300)
    else:
        done = client.run("-c", prelude + snippet, environment=settings, merged=True, timeout_s=300)
    assert done.returncode == expect, done.stdout[-9000:]
    return done.stdout
