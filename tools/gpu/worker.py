"""One training job that does what it is told, and says what it took: the process behind every figure of tools/gpu_check.

    python tools/gpu/worker.py --model gpt2_small --size small --do '[["run", 12], ["memory"], ["digests"]]'

Without --do, commands come one a line on standard input. Each answer is one line of JSON behind MARK. A job that runs out
of memory answers {"out_of_memory": …} and ends well; any other error ends it as Python does. It never imports stowage.
"""

import argparse
import faulthandler
import json
import os
import pathlib
import sys
import time
from collections.abc import Callable

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what deterministic mode asks of cuBLAS

import torch

from tests.zoo import counters, hazards, models, variants
from tests.zoo.fingerprint import fingerprint

MARK = "@@ "
STATISTICS = ("allocated_bytes.all.peak", "reserved_bytes.all.peak", "allocated_bytes.all.current",
              "reserved_bytes.all.current", "num_device_alloc", "num_device_free", "num_alloc_retries", "num_ooms")


def stowage_report() -> dict:
    module = sys.modules.get("stowage")
    return dict(module.report()) if module is not None else {}


def statistics() -> dict:
    try:
        found = torch.cuda.memory_stats()
    except RuntimeError as error:  # PyTorch's pluggable allocator keeps none
        return {"unsupported": str(error).splitlines()[0]}
    return {key: found.get(key, 0) for key in STATISTICS}


class Worker:
    """Each method do_NAME answers the command NAME."""

    def __init__(self, arguments: argparse.Namespace):
        variants.prepare(arguments)
        if arguments.limit:
            torch.cuda.set_per_process_memory_fraction(arguments.limit / torch.cuda.mem_get_info()[1])
        build = hazards.build if arguments.model in hazards.names() else models.build
        self.job = variants.vary(build(arguments.model, arguments.size, torch.device("cuda")), arguments)
        self.number = 0

    def iterate(self) -> None:
        self.job.step(self.number)
        self.number += 1

    def do_run(self, iterations: int) -> dict:
        """Wall seconds of all together; the device is waited for at the end only."""
        started = time.perf_counter()
        for _ in range(iterations):
            self.iterate()
        torch.cuda.synchronize()
        return {"seconds": time.perf_counter() - started, "iterations": iterations}

    def do_watch(self, iterations: int) -> dict:
        """Iteration by iteration: what each took, with the device, what is reserved behind it, and what Stowage says."""
        seen: dict[str, list] = {"ns": [], "reserved": [], "state": [], "recomputed": [], "schedule": [], "memory_calls": []}
        for _ in range(iterations):
            calls, started = counters.memory_calls(), time.perf_counter_ns()
            self.iterate()
            torch.cuda.synchronize()
            seen["ns"].append(time.perf_counter_ns() - started)
            report = stowage_report()
            seen["reserved"].append(statistics().get("reserved_bytes.all.current"))
            seen["state"].append(report.get("state", ""))
            budget = report.get("budget", {})
            schedule = budget.get("schedule", {})
            seen["recomputed"].append(budget.get("recomputed_ops", 0))
            seen["schedule"].append("followed" if schedule.get("followed") else schedule.get("reason", ""))
            if calls is not None:
                seen["memory_calls"].append(counters.memory_calls() - calls)
        return seen

    def do_memory(self) -> dict:
        free, total = torch.cuda.mem_get_info()
        return statistics() | {"device_used": total - free}

    def do_forget_peaks(self) -> dict:
        torch.cuda.reset_peak_memory_stats()
        return {}

    def do_digests(self) -> dict:
        """Of all that training changes; none where no values are computed, as on the simulated device."""
        faults = getattr(self.job, "faults", None)
        if counters.read() is not None:
            return {"digests": {}, "losses": len(self.job.losses), "faults": None}
        digests = self.job.digests(of=fingerprint)
        return {"digests": digests, "losses": len(self.job.losses), "faults": faults}

    def do_report(self) -> dict:
        return stowage_report()

    def do_calls(self, iterations: int) -> dict:
        from tools.gpu import api_calls
        return api_calls.watched(lambda: self.do_run(iterations))

    def do_profile(self, iterations: int) -> dict:
        from tools.gpu import kineto
        return kineto.kernels(lambda: self.do_run(iterations))

    def do_machine(self) -> dict:
        from tools.gpu import api_calls
        properties = torch.cuda.get_device_properties(0)
        return {"name": properties.name, "memory_bytes": properties.total_memory,
                "multiprocessors": properties.multi_processor_count,
                "capability": f"{properties.major}.{properties.minor}", "cudnn": torch.backends.cudnn.version(),
                "cuda": torch.version.cuda, "torch": torch.__version__, "cupti": api_calls.cupti_version()}


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, choices=models.names() + hazards.names())
    parser.add_argument("--size", default="small", choices=models.SIZES)
    parser.add_argument("--limit", type=int, metavar="BYTES", help="PyTorch's own limit on what is reserved")
    parser.add_argument("--do", type=json.loads, metavar="JSON", help="the commands")
    variants.add_arguments(parser)
    return parser.parse_args(argv)


def answer(found: dict) -> None:
    print("\n" + MARK + json.dumps(found), flush=True)


def main(argv: list[str] | None = None, on_event: Callable[[str], None] = lambda name: None) -> None:
    faulthandler.enable()
    arguments = parse(sys.argv[1:] if argv is None else argv)
    commands = map(json.loads, sys.stdin) if arguments.do is None else arguments.do
    try:
        worker = Worker(arguments)
        on_event("built")
        answer({"built": arguments.model})
        for name, *values in commands:
            answer(getattr(worker, f"do_{name}")(*values))
        getattr(worker.job, "close", lambda: None)()
    except torch.OutOfMemoryError as error:
        answer({"out_of_memory": str(error)[:2000]})


if __name__ == "__main__":
    main()
