"""Runs random jobs (program.py) as they are, with Stowage and under a budget, and says what they left.

CPU runs are compared in bits. Runs on the simulated device compute nothing and are compared in memory: what PyTorch's
allocator and the arena together had reserved after each iteration, and at most.
"""

import json
import os
import pathlib
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.soak import program
from tests.warm import client
from tests.zoo import simulated
from tests.zoo.harness import clean_environment

ITERATIONS = 200
BUDGET = "70%"
TIGHT = "50%"  # with a spill file
MORE = 0.01  # of the better allocator's reserved bytes
PAGE = 2 << 20  # what the device maps at once, which a share of a small job may be less than
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
WITH = {"STOWAGE": "1", "STOWAGE_PLAN_WAIT_MS": "10000"}
CPU_RUNS = {"plain": {}, "planned": WITH | {"STOWAGE_DEVICES": "cpu"},
            "budget": WITH | {"STOWAGE_DEVICES": "cpu", "STOWAGE_BUDGET": BUDGET},
            "offload": WITH | {"STOWAGE_DEVICES": "cpu", "STOWAGE_BUDGET": TIGHT, "STOWAGE_SPILL": "."}}
UNDER_BUDGETS = ("budget", "offload")
CUDA_RUNS = {"native": {}, "expandable": EXPANDABLE, "stowage": WITH | {"STOWAGE_DEVICES": "cuda"}}


@dataclass
class Left:
    """What one run left: the program's own line, Stowage's report, and all that it printed if it failed."""
    found: dict
    report: dict
    output: str
    status: int

    @property
    def out_of_memory(self) -> bool:
        return "OutOfMemoryError" in self.output

    @property
    def state(self) -> str:
        return self.report.get("state", "failed" if self.status else "plain")


def run(seed: int, device: str, extra: dict[str, str], iterations: int = ITERATIONS) -> Left:
    environment = clean_environment()
    if device == "cuda":
        environment |= simulated.environment(base=environment)
    with tempfile.TemporaryDirectory() as folder:
        script, report = pathlib.Path(folder) / "job.py", pathlib.Path(folder) / "report.json"
        script.write_text(program.source(seed))
        environment |= extra | {"STOWAGE_REPORT": str(report)}
        if "STOWAGE_SPILL" in extra:
            environment["STOWAGE_SPILL"] = folder
        done = client.run(str(script), device, str(iterations), environment=environment, timeout_s=3600)
        left = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {}
        told = json.loads(report.read_text()) if report.exists() else {}
    return Left(left, told, done.stderr, done.returncode)


@dataclass
class Job:
    """All runs of one random job."""
    seed: int
    cpu: dict[str, Left]
    cuda: dict[str, Left]

    def differing(self, name: str) -> list[str]:
        """What a CPU run left otherwise than the plain one."""
        plain, other = self.cpu["plain"].found, self.cpu[name].found
        digests = plain["digests"].keys() | other["digests"].keys()
        named = [key for key in sorted(digests) if plain["digests"].get(key) != other["digests"].get(key)]
        return named + [f"loss {i}" for i, pair in enumerate(zip(plain["losses"], other["losses"])) if pair[0] != pair[1]]

    def steady_reserved(self, name: str) -> int:
        """Most bytes reserved after any iteration of the second half."""
        after = self.cuda[name].found["reserved"]
        return max(after[len(after) // 2:])

    def faults(self, strict: bool) -> list[str]:
        """Promises that were broken, in words. Reserved memory is compared with expandable segments, with which upstream
        records, in the steady state; `strict`: with the better allocator, and at any time."""
        faults = [f"{kind} ended with {left.status}: {left.output[-2000:]}"
                  for kind, left in [*self.cpu.items(), *self.cuda.items()]
                  if left.status != 0 and not (kind in UNDER_BUDGETS and left.out_of_memory)]
        if faults:
            return faults
        for name in ("planned", *UNDER_BUDGETS):
            if self.cpu[name].status == 0 and (differing := self.differing(name)):
                faults.append(f"{name}: other bits in {', '.join(differing[:5])} and {len(differing[5:])} more")
        for name in UNDER_BUDGETS:
            budget = self.cpu[name].report.get("budget", {})
            if budget.get("limit_bytes", 0) and budget["peak_held_bytes"] > budget["limit_bytes"]:
                faults.append(f"{name}: {budget['peak_held_bytes']} bytes held of {budget['limit_bytes']}")
            if "not valid" in (reason := budget.get("schedule", {}).get("reason", "")):
                faults.append(f"{name}: no schedule, since {reason}")
        measures = {"steady": self.steady_reserved} | ({"peak": self.peak_reserved} if strict else {})
        for what, of in measures.items():
            better = min(of("native"), of("expandable")) if strict else of("expandable")
            if of("stowage") > max(better * (1 + MORE), better + PAGE):
                faults.append(f"{what} reserved {of('stowage') >> 20} MiB, native {of('native') >> 20}, "
                              f"expandable {of('expandable') >> 20} ({self.cuda['stowage'].state})")
        return faults

    def peak_reserved(self, name: str) -> int:
        return self.cuda[name].found["peak_reserved"]


def run_all(seed: int, iterations: int = ITERATIONS) -> Job:
    """Every run of one job, two processes at a time."""
    wanted = [("cpu", name, extra) for name, extra in CPU_RUNS.items()]
    wanted += [("cuda", name, extra) for name, extra in CUDA_RUNS.items()]
    with ThreadPoolExecutor(int(os.environ.get("STOWAGE_SOAK_PROCESSES", "2"))) as pool:
        lefts = list(pool.map(lambda what: run(seed, what[0], what[2], iterations), wanted))
    named = {(device, name): left for (device, name, _), left in zip(wanted, lefts)}
    return Job(seed, {name: named["cpu", name] for name in CPU_RUNS}, {name: named["cuda", name] for name in CUDA_RUNS})
