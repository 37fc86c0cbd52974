"""Runs a training job in a process of its own through one of Stowage's front doors, and reads what it left.

Doors: "plain" (no Stowage), "entry_point", "launcher", "enable_before", "enable_after"; on a CUDA device also "preload"
and "pluggable" (torch.cuda.memory.change_current_allocator). "warm_entry_point" is the entry point in a fork of a process
that has imported torch, for tests of what a job does afterwards. Devices: "cpu", "cuda", and "simulated": the CUDA device
that tests/zoo/simulated.py puts under the process.
"""

import functools
import json
import pathlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

import torch

from tests.environment import without
from tests.warm import client
from tests.zoo import simulated
from tests.zoo.habits import ODD
from tests.zoo.job import digest_all

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN_JOB = "tests/zoo/run_job.py"
EXAMPLES = {
    "char_gpt": ["examples/char_gpt.py", "--iterations", "20", "--layers", "2", "--width", "64", "--context", "64",
                 "--batch", "4"],
    "digits_resnet18": ["examples/digits_resnet18.py", "--iterations", "20", "--batch", "8"],
}
_installed = pathlib.Path(sys.executable).parent / "stowage"
LAUNCHER = [str(_installed)] if _installed.exists() else [sys.executable, "-m", "stowage"]
DOORS = ("entry_point", "launcher", "enable_before", "enable_after")
WARM = ("plain", "enable_after", "pluggable", "warm_entry_point")  # doors that do not depend on how torch is imported
MODULES = {name: f"transformers.models.{name}.modeling_{name}" for name in ("gpt2", "llama", "bert")}
CUDA_DOORS = (*DOORS, "preload", "pluggable")


@dataclass
class Outcome:
    digests: dict[str, str]
    report: dict  # Stowage's own; empty in a plain run
    output: str  # standard output and error of the job
    result: dict = field(default_factory=dict)  # what run_job.py wrote; empty for an example


def clean_environment() -> dict[str, str]:
    """This process's environment without settings of Stowage or kept plans, and with what makes a job repeat itself."""
    return without("STOWAGE", "LD_PRELOAD") | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}


@functools.cache
def preload_library() -> str:
    """What `stowage preload` prints."""
    return subprocess.run([*LAUNCHER, "preload"], text=True, capture_output=True, check=True).stdout.strip()


def environment(door: str, device: str, report: pathlib.Path, extra: dict[str, str]) -> dict[str, str]:
    wanted = clean_environment()
    if device == "simulated":
        wanted |= simulated.environment(base=wanted)
    if door != "plain":
        wanted |= {"STOWAGE_DEVICES": "cpu" if device == "cpu" else "cuda", "STOWAGE_REPORT": str(report),
                   "STOWAGE_PLAN_WAIT_MS": "10000"}  # these iterations are short: a plan is to come at a known one
    if door in ("entry_point", "warm_entry_point", "preload"):
        wanted["STOWAGE"] = "1"
    if door == "preload":
        wanted["LD_PRELOAD"] = ":".join(filter(None, [preload_library(), wanted.get("LD_PRELOAD")]))
    return wanted | extra


def answers_in(output: str) -> list[dict]:
    """What tools/gpu/worker.py has answered to its commands."""
    return [json.loads(line[3:]) for line in output.splitlines() if line.startswith("@@ ")]


def command(door: str, script: list[str]) -> list[str]:
    if door in ("plain", "entry_point", "warm_entry_point", "preload"):
        return [sys.executable, *script]
    if door == "launcher":
        return [*LAUNCHER, "run", *script]
    return [sys.executable, "tests/zoo/enabled.py", door.removeprefix("enable_"), *script]


def run(door: str, script: list[str], device: str = "cpu", extra: dict[str, str] | None = None,
        timeout_s: float = 300) -> subprocess.CompletedProcess:
    """The finished process; Stowage's report, if it left one, is its attribute `report`."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        words, settings = command(door, script), environment(door, device, report, extra or {})
        if door in WARM:
            modules = [module for name, module in MODULES.items() if any(name in word for word in words)]
            done = client.run(*words[1:], environment=settings, merged=True, timeout_s=timeout_s, modules=modules)
        else:
            done = subprocess.run(words, cwd=ROOT, env=settings, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=timeout_s)
        done.report = json.loads(report.read_text()) if report.exists() else {}
    return done


def run_checked(door: str, script: list[str], *arguments, **named) -> subprocess.CompletedProcess:
    """As run. Raises AssertionError with the job's output if the job failed."""
    done = run(door, script, *arguments, **named)
    if done.returncode != 0:
        raise AssertionError(f"{door}: {' '.join(script)} ended with {done.returncode}:\n{done.stdout}")
    return done


def trained_state(saved: pathlib.Path) -> dict:
    """What an example saved, without the times, which no two runs share."""
    state = torch.load(saved, weights_only=True)
    state.pop("iteration_ms", None)
    return state


def run_example(name: str, door: str) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        saved = pathlib.Path(folder) / "state.pt"
        done = run_checked(door, [*EXAMPLES[name], "--save", str(saved)])
        digests: dict[str, str] = {}
        digest_all(trained_state(saved), name, digests)
    return Outcome(digests, done.report, done.stdout)


def iterations(habit: str) -> int:
    """20; for a job with a habit so many that the last iteration directly follows an odd one. One that is interrupted
    has no optimizer step, so that only the next one's step ends it. Evaluations come often enough to be learned."""
    return 20 if habit in ("none", "evaluate") else max(ODD) + (3 if habit == "interrupt" else 2)


def run_model(name: str, door: str, habit: str = "none", device: str = "cpu", options: list[str] | None = None,
              **named) -> Outcome:
    """run_job.py with `options` (which override) and its result; `named` goes to run()."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "result.json"
        script = [RUN_JOB, "--model", name, "--habit", habit, "--iterations", str(iterations(habit)), "--out", str(out),
                  "--device", "cpu" if device == "cpu" else "cuda", *(options or [])]
        done = run_checked(door, script, device, **named)
        result = json.loads(out.read_text())
    digests = result["digests"] | {f"loss/{i}": loss.hex() for i, loss in enumerate(result["losses"])}
    return Outcome(digests, done.report, done.stdout, result)


@functools.cache
def plain_example(name: str) -> Outcome:
    return run_example(name, "plain")


@functools.cache
def plain_model(name: str, habit: str = "none", device: str = "cpu") -> Outcome:
    return run_model(name, "plain", habit, device)


def differences(a: dict[str, str], b: dict[str, str]) -> list[str]:
    """Names of what is not equal bit by bit, or only on one side."""
    return sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))
