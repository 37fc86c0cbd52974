"""What PyTorch's profiler saw of the GPU while a function ran. Its witness is independent of Stowage's."""

import json
import pathlib
import tempfile
from collections.abc import Callable

import torch
from torch.profiler import ProfilerActivity


def events(work: Callable[[], None], *more: ProfilerActivity) -> list[dict]:
    """The events of a profile of CUDA, and of `more`, in the Trace Event Format; the device is waited for within."""
    with torch.profiler.profile(activities=[ProfilerActivity.CUDA, *more]) as profile:
        work()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trace.json"
        profile.export_chrome_trace(str(path))
        return json.loads(path.read_text())["traceEvents"]


def kernels(work: Callable[[], None]) -> dict[str, int]:
    """How many kernels ran and what they took together, under their ops as a user's profile has them."""
    found = [event for event in events(work, ProfilerActivity.CPU) if event.get("cat") == "kernel"]
    return {"kernels": len(found), "ns": round(sum(event["dur"] for event in found) * 1000)}
