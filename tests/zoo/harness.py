"""Runs a training job in a process of its own through one of Stowage's front doors, and reads what it left.

Doors that exist on the CPU: "plain" (no Stowage), "entry_point", "launcher", "enable_before", "enable_after".
"""

import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass

import torch

from tests.zoo.habits import ODD
from tests.zoo.job import digest_all

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN_JOB = "tests/zoo/run_job.py"
EXAMPLES = {
    "char_gpt": ["examples/char_gpt.py", "--iterations", "20", "--layers", "2", "--width", "64", "--context", "64",
                 "--batch", "4"],
    "digits_resnet18": ["examples/digits_resnet18.py", "--iterations", "20", "--batch", "8"],
}
LAUNCHER = pathlib.Path(sys.executable).parent / "stowage"
DOORS = ("entry_point", "launcher", "enable_before", "enable_after")


@dataclass
class Outcome:
    digests: dict[str, str]
    report: dict  # Stowage's own; empty in a plain run
    output: str  # standard output and error of the job


def environment(door: str, report: pathlib.Path, extra: dict[str, str]) -> dict[str, str]:
    """The process's environment without any Stowage setting, and then those that the door needs."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("STOWAGE")}
    clean |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    if door == "plain":
        return clean
    clean |= {"STOWAGE_DEVICES": "cpu", "STOWAGE_REPORT": str(report), "STOWAGE_PLAN_WAIT_MS": "10000"}
    if door == "entry_point":
        clean["STOWAGE"] = "1"
    return clean | extra


def command(door: str, script: list[str]) -> list[str]:
    if door in ("plain", "entry_point"):
        return [sys.executable, *script]
    if door == "launcher":
        return [str(LAUNCHER), "run", *script]
    return [sys.executable, "tests/zoo/enabled.py", door.removeprefix("enable_"), *script]


def run(door: str, script: list[str], extra: dict[str, str] | None = None) -> subprocess.CompletedProcess:
    """The finished process; Stowage's report, if it left one, is its attribute `report`."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        done = subprocess.run(command(door, script), cwd=ROOT, env=environment(door, report, extra or {}), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        done.report = json.loads(report.read_text()) if report.exists() else {}
    return done


def run_checked(door: str, script: list[str], extra: dict[str, str] | None = None) -> subprocess.CompletedProcess:
    done = run(door, script, extra)
    if done.returncode != 0:
        raise AssertionError(f"{door}: {' '.join(script)} ended with {done.returncode}:\n{done.stdout}")
    return done


def run_example(name: str, door: str) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        saved = pathlib.Path(folder) / "state.pt"
        done = run_checked(door, [*EXAMPLES[name], "--save", str(saved)])
        digests: dict[str, str] = {}
        digest_all(torch.load(saved, weights_only=True), name, digests)
    return Outcome(digests, done.report, done.stdout)


def iterations(habit: str) -> int:
    """20; for a job with a habit so many that the last iteration directly follows an odd one."""
    return 20 if habit == "none" else max(ODD) + 2


def run_model(name: str, door: str, habit: str = "none", extra: dict[str, str] | None = None) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "result.json"
        script = [RUN_JOB, "--model", name, "--habit", habit, "--iterations", str(iterations(habit)), "--out", str(out)]
        done = run_checked(door, script, extra)
        result = json.loads(out.read_text())
    digests = result["digests"] | {f"loss/{i}": loss.hex() for i, loss in enumerate(result["losses"])}
    return Outcome(digests, done.report, done.stdout)


@functools.cache
def plain_example(name: str) -> Outcome:
    return run_example(name, "plain")


@functools.cache
def plain_model(name: str, habit: str = "none") -> Outcome:
    return run_model(name, "plain", habit)


def differences(a: dict[str, str], b: dict[str, str]) -> list[str]:
    """Names of what is not equal bit by bit, or only on one side."""
    return sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))
