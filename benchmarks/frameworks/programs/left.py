"""What a program leaves behind, as one line of JSON: digests of its losses and its parameters, and the memory it took.

With LEFT_LOOKS=1 it also looks at Stowage's report, where Stowage is there: after a third of the iterations and at the end.
"""

import hashlib
import json
import os
import resource
import sys
from collections.abc import Iterator

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SCALE = 16 if DEVICE == "cuda" else 1  # of batches: the simulated device computes nothing
LONG = int(os.environ.get("LONG", 3))  # times as many iterations, so that there is a steady state


def look() -> dict:
    """Stowage's report; empty where there is none, or nobody asks."""
    stowage = sys.modules.get("stowage") if os.environ.get("LEFT_LOOKS") else None
    return dict(stowage.report()) if stowage else {}


def batches(count: int, *shape: int, below: int = 0) -> Iterator[torch.Tensor]:
    """Seeded data: whole numbers below `below`, or normal ones."""
    generator = torch.Generator().manual_seed(1)
    for _ in range(count):
        yield torch.randint(below, shape, generator=generator) if below else torch.randn(shape, generator=generator)


class Left:
    """One per program. `step` after each iteration of `steps`; `reserved` is that of the last third of them."""

    def __init__(self, steps: int):
        self.seen, self.steps, self.done, self.before, self.looked = [], steps, 0, 0, {}

    def step(self, loss) -> None:
        self.note(loss)
        self.done += 1
        if self.done == self.steps // 3:
            self.looked = look()
        if DEVICE == "cuda" and self.done == self.steps * 2 // 3:
            self.before = torch.cuda.max_memory_reserved()
            torch.cuda.reset_peak_memory_stats()

    def note(self, value) -> None:
        """What counts among the losses and is no step: an evaluation's."""
        self.seen.append(float(value.detach() if isinstance(value, torch.Tensor) else value))

    def tell(self, model: torch.nn.Module) -> None:
        looks = [self.looked, look()]
        losses = hashlib.sha256(" ".join(loss.hex() for loss in self.seen).encode()).hexdigest()
        sha = hashlib.sha256()
        for name, tensor in sorted(model.state_dict().items()):
            tensor = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
            sha.update(name.encode() + tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
        reserved = torch.cuda.max_memory_reserved() if DEVICE == "cuda" else 0
        print(json.dumps({
            "losses": losses, "last_loss": self.seen[-1], "parameters": sha.hexdigest(), "steps": self.done,
            "reserved": reserved, "reserved_ever": max(reserved, self.before),
            "allocated": torch.cuda.max_memory_allocated() if DEVICE == "cuda" else 0,
            "resident": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, "looks": looks}), flush=True)
