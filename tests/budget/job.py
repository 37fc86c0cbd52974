"""Training jobs in a process of their own, with or without a budget: each prints what it left as one line of JSON.

    python -m tests.budget.job 10 mlp lstm …     10 iterations of each, under whatever STOWAGE* the environment asks for

`digests`: losses, gradients, parameters, buffers, optimizer and RNG state, bit for bit; `error`: the message if the job
ran out of memory; `report`: Stowage's; `resident`: how far the process's resident size rose over what it was before the
job, in bytes, at its highest; `seconds`: of processor time, for the iterations but the first three; `evictions`: under a
budget, how many there had been after each iteration, and `recomputed`: how many ops had been run again.
"""

import ctypes
import importlib
import json
import os
import sys
import time

import torch

from tests.budget import sharded_jobs, step_jobs  # noqa: F401  add their own to JOBS
from tests.budget.jobs import JOBS

WARM = 3  # iterations until a budget is in its steady state


class Resident:
    """The system's own high-water mark of the process's resident size, begun anew where this is made."""

    def __init__(self):
        ctypes.CDLL(None).malloc_trim(0)
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # VmHWM is the present size again
        self._before = self._highest()

    def _highest(self) -> int:
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))

    def rise(self) -> int:
        return self._highest() - self._before


def report() -> dict:
    if os.environ.get("STOWAGE", "") in ("", "0"):
        return {}
    import stowage
    return dict(stowage.report())


def run(name: str, iterations: int) -> dict:
    left: dict = {"name": name, "digests": {}, "error": "", "seconds": 0.0, "evictions": [], "recomputed": []}
    resident = Resident()
    trainer = None
    try:
        if name not in JOBS:
            importlib.import_module("tests.budget.heavy_jobs")
        trainer = JOBS[name]()
        for i in range(iterations):
            started = time.process_time()
            trainer.losses.append(trainer.step(i))
            left["seconds"] += time.process_time() - started if i >= WARM else 0.0
            if budget := report().get("budget"):
                left["evictions"].append(budget["evictions"])
                left["recomputed"].append(budget["recomputed_ops"])
    except torch.OutOfMemoryError as error:
        left["error"] = str(error)
    left["resident"] = resident.rise()
    left["report"] = report()
    if not left["error"]:
        left["digests"] = trainer.digests()
    return left


def main() -> None:
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.nn.Linear(4, 4)(torch.randn(2, 4)).sum().backward()  # what PyTorch makes once is there before it is measured
    for name in sys.argv[2:]:
        print(json.dumps(run(name, int(sys.argv[1]))), flush=True)


if __name__ == "__main__":
    main()
