"""Runs a program of rows.py in a mode: on the CPU or the simulated device, with Stowage or without."""

import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

from benchmarks.frameworks.rows import FOLDER, ROWS
from tests.environment import without
from tests.plugin.cuda import simulated_job

ROOT = pathlib.Path(__file__).resolve().parents[2]
STOWAGE = {"STOWAGE": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "1"}
MODES = {
    "plain": {}, "planned": STOWAGE | {"STOWAGE_DEVICES": "cpu"},
    "again": STOWAGE | {"STOWAGE_DEVICES": "cpu"},
    "native": {}, "expandable": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
    "stowage": STOWAGE | {"STOWAGE_DEVICES": "cuda"}}
ON_CUDA = ("native", "expandable", "stowage")
WITHOUT = dict.fromkeys(ON_CUDA, "native")  # else plain
BUDGET = "budget "  # and the budget: a mode
LIMIT_S = 600
# PyTorch's own end of a process group now and then: a thread of gloo is still there when the process exits.
ABORT, TRIES = "terminate called without an active exception", 3


@dataclass
class Outcome:
    status: int
    seconds: float = 0.0
    cpu_s: float = 0.0  # of the program and the processes that it waited for
    left: dict = field(default_factory=dict)  # what left.py told
    reports: list = field(default_factory=list)  # Stowage's, one for each process
    said: list = field(default_factory=list)  # what Stowage wrote to standard error
    errors: str = ""
    aborts: int = 0  # of earlier tries, by PyTorch at their exit

    @property
    def failed(self) -> bool:
        return self.status != 0 or not self.left

    @property
    def least_budget(self) -> str | None:
        """What the error of a job that ended out of memory under a budget names."""
        found = re.search(r"OutOfMemoryError: stowage: the budget of .* A budget of (.*) would be enough here", self.errors)
        return found[1] if self.failed and found else None


def settings_of(mode: str, folder: str) -> dict[str, str]:
    if mode.startswith(BUDGET):
        return STOWAGE | {"STOWAGE_DEVICES": "cpu", "STOWAGE_BUDGET": mode.removeprefix(BUDGET), "STOWAGE_SPILL": folder}
    return MODES[mode]


def environment(mode: str, folder: str) -> dict[str, str]:
    found = simulated_job.environment() if mode in ON_CUDA else without("STOWAGE", "PYTORCH_")
    found |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "JOB_FOLDER": folder,
              "PYTHONHASHSEED": "0",  # else a run's CPU time depends on its seed
              "PYTHONPATH": str(ROOT / "python"), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    settings = settings_of(mode, folder)
    return found | settings | ({"STOWAGE_REPORT": f"{folder}/report.json"} if "STOWAGE" in settings else {})


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def call(words: tuple[str, ...], settings: dict[str, str]) -> Outcome:
    """The CPU time is right only where nothing else runs programs in this process."""
    begin, cpu = time.monotonic(), cpu_of_children()
    try:
        done = subprocess.run([sys.executable, *words], env=settings, cwd=FOLDER, text=True, capture_output=True,
                              timeout=LIMIT_S)
    except subprocess.TimeoutExpired as expired:
        return Outcome(-1, LIMIT_S, errors=f"{expired}: {(expired.stderr or b'')[-2000:]!r}")
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"losses"')]
    said = [line for line in done.stderr.splitlines() if "stowage: " in line]
    return Outcome(done.returncode, time.monotonic() - begin, cpu_of_children() - cpu,
                   json.loads(lines[-1]) if lines else {}, [], said, done.stderr)


def run(name: str, mode: str, looks: bool = True) -> Outcome:
    """`looks`: left.py asks for the report on the way; not where CPU time is compared. `again`: the second of two runs that
    share a folder of kept plans."""
    if mode != "again":
        return run_once(name, mode, {}, looks)
    with tempfile.TemporaryDirectory() as plans:
        os.chmod(plans, 0o700)
        first = run_once(name, mode, {"STOWAGE_PLAN_CACHE": plans}, looks)
        return first if first.failed else run_once(name, mode, {"STOWAGE_PLAN_CACHE": plans}, looks)


def run_once(name: str, mode: str, more: dict[str, str], looks: bool) -> Outcome:
    """A program of several ranks is tried again where PyTorch aborts it, which the page tells, with Stowage and without."""
    for tried in range(TRIES):
        outcome = try_once(name, mode, more, looks)
        outcome.aborts = tried
        if not outcome.failed or ROWS[name].ranks == 1 or ABORT not in outcome.errors:
            break
    return outcome


def try_once(name: str, mode: str, more: dict[str, str], looks: bool) -> Outcome:
    row = ROWS[name]
    with tempfile.TemporaryDirectory() as folder:
        if row.before:
            first = call(row.before, environment(WITHOUT.get(mode, "plain"), folder))
            if first.status:
                return first
        outcome = call(row.command, environment(mode, folder) | more | ({"LEFT_LOOKS": "1"} if looks else {}))
        outcome.reports = [json.loads(path.read_text()) for path in sorted(pathlib.Path(folder).glob("report*.json"))]
    return outcome


def cpu_pairs(name: str, pairs: int) -> tuple[list[float], list[float]]:
    """Seconds of CPU time with Stowage and without, in turns; of runs that ended well."""
    ours, theirs = [], []
    for number in range(pairs):
        modes = ("plain", "planned") if number % 2 else ("planned", "plain")
        outcomes = {mode: run(name, mode, looks=False) for mode in modes}
        if not any(outcome.failed for outcome in outcomes.values()):
            ours.append(outcomes["planned"].cpu_s)
            theirs.append(outcomes["plain"].cpu_s)
    return ours, theirs
