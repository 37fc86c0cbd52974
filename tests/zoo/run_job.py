"""Runs one job of the zoo as a plain training script. It never imports stowage.

    python tests/zoo/run_job.py --model resnet50 --size small --device cpu --iterations 20 --out result.json

The result: a sha256 of every tensor that training changes, the losses, and the device's memory figures in bytes.
"""

import argparse
import json
import os
import pathlib
import resource
import sys
import time
from collections.abc import Callable

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what deterministic mode asks of cuBLAS

import torch

from tests.zoo import counters, habits, models


def parse_arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, choices=models.names())
    parser.add_argument("--size", default="small", choices=models.SIZES)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--habit", default="none", choices=list(habits.HABITS), help="what the job does differently")
    parser.add_argument("--pause-ms", type=float, default=0.0, help="sleep after each iteration")
    parser.add_argument("--no-digests", action="store_true", help="memory and times only")
    parser.add_argument("--any-algorithm", action="store_true", help="not only deterministic algorithms")
    parser.add_argument("--out", metavar="FILE", help="where to write the result; default: standard output")
    return parser.parse_args(argv)


def memory_figures(device: str) -> dict:
    """Bytes and counts as PyTorch gives them; on the CPU the process's highest resident set."""
    if device == "cpu":
        return {"peak_resident": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}
    try:
        stats = torch.cuda.memory_stats()
    except RuntimeError as error:  # PyTorch's pluggable allocator keeps no statistics
        return {"unsupported": str(error).splitlines()[0]}
    wanted = ("allocated_bytes.all.peak", "reserved_bytes.all.peak", "allocated_bytes.all.current",
              "reserved_bytes.all.current", "allocation.all.allocated", "segment.all.allocated",
              "num_device_alloc", "num_device_free", "num_alloc_retries", "num_ooms")
    return {key: stats.get(key, 0) for key in wanted}


def run(arguments: argparse.Namespace, on_event: Callable[[str], None]) -> dict:
    torch.set_num_threads(1)
    if not arguments.any_algorithm:
        torch.use_deterministic_algorithms(True, warn_only=True)
    on_event("start")
    job = models.build(arguments.model, arguments.size, arguments.device)
    on_event("built")
    step = habits.HABITS[arguments.habit](job)
    times_ns, memory_calls = [], []
    for iteration in range(arguments.iterations):
        calls_before = counters.memory_calls()
        started = time.perf_counter_ns()
        step(iteration)
        if arguments.device == "cuda":
            torch.cuda.synchronize()
        times_ns.append(time.perf_counter_ns() - started)
        if calls_before is not None:
            memory_calls.append(counters.memory_calls() - calls_before)
        time.sleep(arguments.pause_ms / 1e3)
    on_event("trained")
    return {"model": arguments.model, "size": arguments.size, "device": arguments.device, "torch": torch.__version__,
            "losses": job.losses, "iteration_ns": times_ns,
            "memory_calls": memory_calls,  # to the device, per iteration; empty where it is not the simulated one
            "memory": memory_figures(arguments.device),
            "digests": {} if arguments.no_digests else job.digests()}


def main(argv: list[str] | None = None, on_event: Callable[[str], None] = lambda name: None) -> None:
    arguments = parse_arguments(sys.argv[1:] if argv is None else argv)
    text = json.dumps(run(arguments, on_event), indent=1)
    if arguments.out:
        pathlib.Path(arguments.out).write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
