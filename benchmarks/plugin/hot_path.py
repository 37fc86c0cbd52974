"""Planned against native: host time of one CUDA allocation and its free, through the installed allocator interface.

    python benchmarks/plugin/hot_path.py            # on the simulated device; --device cuda: on a real one
    python benchmarks/plugin/hot_path.py --quick    # a small model, few repeats: does it work?
    python benchmarks/plugin/hot_path.py --write    # and writes docs/results/hot_path.md

One iteration of GPT-2 small is recorded with PyTorch's own history: each allocation and free, in order. The probe
(hot_path_probe.cc) then replays it against the allocator that is installed: first the native one, which it
remembers, then Stowage's, marked as iterations until the session itself reaches its plan. What is timed is native and
planned in turn, in one process; every planned request must have been a hit. Marks are within the planned time.
"""

import argparse
import ctypes
import json
import os
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import torch

from benchmarks import paired
from benchmarks.pages import Page, ROOT, machine, table
from tests.zoo import harness, models, simulated

PAGE = Page(__file__)
BAR = 1 / 8
MARK = ctypes.CFUNCTYPE(ctypes.c_int)


def record_iteration(model: str, size: str) -> list[int]:
    """Events of one steady iteration as the probe wants them. Blocks that outlive it are freed at its end."""
    job = models.build(model, size, "cuda")
    for i in range(3):
        job.step(i)
    torch.cuda.memory._record_memory_history(context=None, max_entries=1_000_000)
    job.step(3)
    (trace,) = torch.cuda.memory._snapshot()["device_traces"]
    torch.cuda.memory._record_memory_history(enabled=None)
    events, live, blocks = [], {}, 0
    for entry in trace:
        if entry["action"] == "alloc":
            live[entry["addr"]] = blocks
            blocks += 1
            events.append(entry["size"])
        elif entry["action"] == "free_requested" and entry["addr"] in live:
            events.append(-live.pop(entry["addr"]) - 1)
    return events + [-block - 1 for block in live.values()]


def load_probe() -> ctypes.CDLL:
    probe = ctypes.CDLL(str(simulated.build_folder() / "benchmarks" / "plugin" / "plugin_hot_path_probe.so"))
    probe.probe_run.restype = ctypes.c_double
    return probe


def reach_plan(probe: ctypes.CDLL, mark) -> None:
    import stowage
    for _ in range(20):
        probe.probe_run(0, 1, mark)
        if stowage.report()["state"] == "planned":
            return
    raise SystemExit(f"the session did not reach a plan within 20 iterations:\n{stowage.report()}")


def measure(arguments: argparse.Namespace) -> dict:
    """In the process that has the device."""
    import stowage
    torch.cuda.init()
    torch.zeros(1, device="cuda")
    probe = load_probe()
    probe.probe_remember_native()
    events = record_iteration(arguments.model, "small" if arguments.quick else "full")
    torch.cuda.empty_cache()
    pairs = len(events) // 2
    probe.probe_set_events((ctypes.c_int64 * len(events))(*events), ctypes.c_size_t(len(events)))
    stowage.enable(devices="cuda")
    # Native's turns fill its cache beside the arena, and a plan is left where both reserve more than the job needs.
    torch.empty(min(32 << 30, torch.cuda.mem_get_info()[1] // 2), dtype=torch.uint8, device="cuda")
    mark = ctypes.cast(stowage._library.load().stowage_step, MARK)
    reach_plan(probe, mark)

    for _ in range(40):  # learning, which follows a switch, ends; caches fill
        probe.probe_run(1, 1, None)
        probe.probe_run(0, 1, mark)
    before = stowage.report()
    result = {"pairs": pairs, "bytes": sum(e for e in events if e > 0), "native": [], "planned": []}
    for repeat in range(arguments.repeats):
        for on_native in ((1, 0) if repeat % 2 == 0 else (0, 1)):
            spent = probe.probe_run(on_native, arguments.iterations, None if on_native else mark)
            result["native" if on_native else "planned"].append(spent / arguments.iterations / pairs)
    after = stowage.report()
    result["hits"] = after["hits"] - before["hits"]
    result["missed"] = sum(after["misses"].values()) - sum(before["misses"].values())
    result["expected_hits"] = arguments.repeats * arguments.iterations * pairs
    return result


def run_child(arguments: argparse.Namespace) -> dict:
    environment = harness.clean_environment() | {"STOWAGE_PLAN_WAIT_MS": "10000"}
    if "STOWAGE_BUILD" in os.environ:
        environment["STOWAGE_BUILD"] = os.environ["STOWAGE_BUILD"]
    if arguments.device == "simulated":
        environment |= simulated.environment(base=environment)
    # The native allocator as PyTorch ships it, not as Stowage would set it up for recording.
    environment["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:False"
    done = subprocess.run([sys.executable, __file__, "--child", *sys.argv[1:]], env=environment, text=True,
                          stdout=subprocess.PIPE, cwd=ROOT)
    if done.returncode != 0:
        raise SystemExit(f"the measuring process ended with {done.returncode}:\n{done.stdout}")
    return json.loads(done.stdout.splitlines()[-1])


def page(result: dict, found: dict, device: str) -> str:
    native, planned = (statistics.median(result[kind]) for kind in ("native", "planned"))
    rows = [("allocator", "ns per allocation and free", "ratio to native"),
            ("PyTorch's native, cache warm", f"{native:.1f}", "1"),
            ("Stowage, planned", f"{planned:.1f}", paired.text(found))]
    return f"""# The hot path: a planned allocation and its free

{PAGE.origin()}

Both allocators in one process, in turn, through
`c10::cuda::CUDACachingAllocator::get()->allocate` and the release of the `DataPtr`; one thread, its processor
time; device: {device}.
The requests are those of one training iteration of GPT-2 small, recorded from the job itself: {result['pairs']} allocations
and frees in their order, {result['bytes'] / 2**30:.1f} GiB in all. The session recorded, planned and switched by itself; of
{result['expected_hits']} timed requests {result['hits']} were hits. Iteration marks are within the planned time.

{table(rows)}

Ratio: median over the pairs, with quartiles. The bar is {BAR} (1/8): {'held' if found['median'] <= BAR else 'missed'}
in this run. Absolute times are this machine's
({machine()}); ratios are what to compare.
"""


def main() -> None:
    parser = PAGE.parser(__doc__, quick="a small model and few repeats")
    parser.add_argument("--device", choices=("simulated", "cuda"), default="simulated")
    parser.add_argument("--model", default="gpt2", choices=models.names(), help="whose requests")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write what was measured here, too")
    parser.add_argument("--repeats", type=int, default=101, help="pairs of native and planned")
    parser.add_argument("--iterations", type=int, default=5, help="iterations timed at once")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = PAGE.parse(parser, "device", "model", "repeats", "iterations")
    if arguments.quick:
        arguments.repeats = 11
    if arguments.child:
        print(json.dumps(measure(arguments)))
        return
    result = run_child(arguments)
    if result["hits"] != result["expected_hits"] or result["missed"] != 0:
        raise SystemExit(f"not every request was a hit: {result['hits']} of {result['expected_hits']}, "
                         f"{result['missed']} misses")
    found = paired.ratio(result["planned"], result["native"])
    if arguments.json:
        arguments.json.write_text(json.dumps(result | {"ratio": found, "bar": BAR}))
    shown = page(result, found, arguments.device)
    print(shown)
    print("within the bar" if found["median"] <= BAR else f"ABOVE the bar of {BAR}")
    PAGE.write(arguments, shown)


if __name__ == "__main__":
    main()
