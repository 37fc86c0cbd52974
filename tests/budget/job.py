"""One training job in a process of its own, with or without a budget: prints what it left as one line of JSON.

    python -m tests.budget.job mlp [iterations]     under whatever STOWAGE* the environment asks for

`digests`: losses, gradients, parameters, buffers, optimizer and RNG state, bit for bit; `error`: the message if the job
ran out of memory; `report`: Stowage's; `resident`: how far the process's resident size rose over what it was before the
job, in bytes, at its highest.
"""

import ctypes
import json
import os
import sys

import torch

from tests.budget.jobs import JOBS


class Resident:
    """The system's own high-water mark of the process's resident size, begun anew where this is made."""

    def __init__(self):
        ctypes.CDLL(None).malloc_trim(0)
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # resets VmHWM
        self._before = self._high()

    def _high(self) -> int:
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))

    def rise(self) -> int:
        return self._high() - self._before


def main() -> None:
    name, iterations = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.nn.Linear(4, 4)(torch.randn(2, 4)).sum().backward()  # PyTorch's own tables are there before anything is measured
    left: dict = {"digests": {}, "error": "", "losses": []}
    resident = Resident()
    trainer = None
    try:
        trainer = JOBS[name]()
        for i in range(iterations):
            trainer.losses.append(trainer.step(i))
        left["resident"] = resident.rise()
        left["report"] = report()
        left["digests"] = trainer.digests()
    except torch.OutOfMemoryError as error:
        left["error"] = str(error)
        left["report"] = report()
    print(json.dumps(left))


def report() -> dict:
    if os.environ.get("STOWAGE", "") in ("", "0"):
        return {}
    import stowage
    return dict(stowage.report())


if __name__ == "__main__":
    main()
