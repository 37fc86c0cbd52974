"""Full-size jobs of the zoo on the simulated device, in the steady state: what they hold and what they call.

    figures = measure("gpt2", "stowage")      # or "native", "expandable", or one of DOORS

Each job runs in a process of its own, so that no job inherits another's memory. Sizes and order of allocations are those
of the real job; times are not.
"""

import json
import pathlib
import subprocess
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from tests.zoo import harness

DOORS = ("entry_point", "preload", "pluggable", "enable_before", "enable_after")
MODELS = ("resnet50", "googlenet", "unet", "vgg16", "mobilenet_v2", "vit_b", "gpt2", "llama", "bert", "lstm")
CONFIGURATIONS = ("native", "expandable", "stowage")
ITERATIONS = 12
STEADY = 4  # iterations at the end
SWITCHED_WITHIN = 6  # iterations
TIMED_MORE = 3  # a job that writes a trace logs four iterations, not one: a time is the median of four
PROCESSES = 2


@dataclass
class Figures:
    model: str
    setting: str
    peak_bytes: int  # highest sum of allocated tensors; 0 where PyTorch does not tell (the pluggable door)
    reserved_bytes: int  # at the end, taken from the device; 0 where PyTorch does not tell
    steady_calls: int  # for device memory, in the last STEADY iterations
    report: dict  # Stowage's own; empty without it
    replayed: dict = field(default_factory=dict)  # `stowage replay` on the job's trace, for the entry point

    @property
    def plan(self) -> dict:
        return self.report["plans"][0]

    @property
    def misses(self) -> int:
        return sum(self.report["misses"].values())

    def faults(self) -> list[str]:
        """What keeps the job from having reached its plan in time and stayed in it without a call for memory."""
        report = self.report
        if report.get("state") != "planned" or not report["plans"]:
            return [f"not planned: {report.get('reason') or report.get('state') or 'no report'}"]
        planned, switch = report["planned_iterations"], report["switched_at_iteration"]
        within = SWITCHED_WITHIN + (TIMED_MORE if self.replayed else 0)
        held = {
            f"switched at iteration {switch}": 0 < switch <= within,
            f"{planned} planned iterations": planned > STEADY,
            f"{self.misses} misses": self.misses == 0 and report["clean_iterations"] == planned,
            f"{report['hits']} hits": report["hits"] >= planned * self.plan["entries"] > 0,
            f"{self.steady_calls} device calls": self.steady_calls == 0,
        }
        return [what for what, good in held.items() if not good]


def measure(model: str, setting: str) -> Figures:
    """Raises AssertionError with the job's output if the job fails."""
    door = {"native": "plain", "expandable": "plain", "stowage": "entry_point"}.get(setting, setting)
    extra = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"} if setting == "expandable" else {}
    options = ["--size", "full", "--iterations", str(ITERATIONS), "--no-digests", "--any-algorithm"]
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "job.stowtrace"
        if door == "entry_point":
            extra |= {"STOWAGE_TRACE": str(trace)}
        outcome = harness.run_model(model, door, device="simulated", options=options, extra=extra)
        replayed = replay(trace) if trace.exists() else {}
    memory = outcome.result["memory"]
    return Figures(model, setting, memory.get("allocated_bytes.all.peak", 0),
                   memory.get("reserved_bytes.all.current", 0), sum(outcome.result["memory_calls"][-STEADY:]),
                   outcome.report, replayed)


def replay(trace: pathlib.Path) -> dict:
    """What `stowage replay --json` says of a trace."""
    done = subprocess.run([*harness.LAUNCHER, "replay", str(trace), "--json"], text=True, capture_output=True, check=True)
    return json.loads(done.stdout)


def measure_pairs(pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Figures]:
    """The figures of each (model, setting), a few processes at a time. A job that fails has figures too, all zero, and
    its output as the report's reason."""
    def measured(pair: tuple[str, str]) -> Figures:
        try:
            return measure(*pair)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            return Figures(*pair, 0, 0, 0, {"state": "failed", "reason": str(error)})

    pairs = list(pairs)
    with ThreadPoolExecutor(PROCESSES) as pool:
        return dict(zip(pairs, pool.map(measured, pairs)))


def measure_all(models: Iterable[str], settings: Iterable[str]) -> dict[tuple[str, str], Figures]:
    return measure_pairs((model, setting) for model in models for setting in settings)
