"""The Python half of tools/gpu_check: every front door, bit-equality, memory and time, written as Markdown.

Runs on a real CUDA device, or with --dry on the simulated one (small sizes; no values, and the host's time only).
Exit status 1 if a door did not reach its plan or bits differ. What time did not allow is listed, not guessed.
"""

import argparse
import datetime
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch

from tests.zoo import harness, simulated
from tools.jobs import median

MIB = 1 << 20
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
WAYS = (("native", "plain", {}), ("expandable segments", "plain", EXPANDABLE), ("Stowage", "entry_point", {}))
NEEDS = {"resnet50": "torchvision", "resnet18": "torchvision", "vgg16": "torchvision", "gpt2": "transformers"}


@dataclass
class Check:
    """What is run where, what was found, and how much time is left."""

    device: str  # "cuda" or "simulated"
    deadline: float
    lines: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def real(self) -> bool:
        return self.device == "cuda"

    def write(self, *lines: str) -> None:
        self.lines += lines

    def left_s(self) -> float:
        return self.deadline - time.monotonic()

    def fail(self, what: str) -> None:
        self.failures.append(what)
        print(f"  FAILED: {what}", flush=True)


def available(models: list[str]) -> list[str]:
    """Those of `models` whose libraries are installed here."""
    return [model for model in models if model not in NEEDS or importlib.util.find_spec(NEEDS[model])]


def run(check: Check, model: str, door: str, options: list[str], extra: dict[str, str] | None = None):
    """The outcome, or None: no time left, or the job failed (which is noted)."""
    if check.left_s() < 20:
        return None
    print(f"  {model}, {door}", flush=True)
    try:
        return harness.run_model(model, door, device=check.device, options=options, extra=extra or {},
                                 timeout_s=check.left_s())
    except (AssertionError, OSError, subprocess.SubprocessError, json.JSONDecodeError) as error:
        check.fail(f"{model}, {door}: {str(error)[-1500:]}")
        return None


def run_all(check: Check, jobs: list[tuple], at_once: int) -> list:
    """The outcomes of run(check, *job), in order."""
    with ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(lambda job: run(check, *job), jobs))


def compare(check: Check, what: str, plain, planned) -> str:
    """The table's cell on bit-equality."""
    if not check.real:
        return "values are not computed"
    if plain is None:
        return "not shown"
    differing = harness.differences(plain.digests, planned.digests)
    if differing:
        check.fail(f"{what}: {len(differing)} values differ, first {differing[0]}")
        return f"{len(differing)} of {len(plain.digests)} differ"
    return f"{len(plain.digests)} equal"


def check_doors(check: Check) -> None:
    """Each door on one model: planned, without misses, and bit-equal to the plain run."""
    model = available(["resnet18", "unet"])[0]
    options = ["--iterations", "12"] + ([] if check.real else ["--no-digests"])
    check.write(f"## Front doors ({model}, small, deterministic algorithms, 12 iterations)", "",
                "| door | state | planned after | misses in the last iteration | compared bit by bit |",
                "|---|---|---|---|---|")
    plain, *outcomes = run_all(check, [(model, door, options) for door in ("plain", *harness.CUDA_DOORS)], 2)
    for door, outcome in zip(harness.CUDA_DOORS, outcomes):
        if outcome is None:
            check.write(f"| {door} | not shown | | | |")
            continue
        report = outcome.report
        state, misses = report.get("state", "no report"), report.get("last_iteration_misses", "")
        if state != "planned" or misses != 0:
            check.fail(f"{door}: state {state}, {misses} misses in the last iteration. {report.get('reason', '')}")
        check.write(f"| {door} | {state} | {report.get('switched_at_iteration', '')} | {misses} "
                    f"| {compare(check, door, plain, outcome)} |")
    check.write("")


def check_bits(check: Check, models: list[str]) -> None:
    """Losses, gradients, parameters, buffers, optimizer and RNG state, plain against planned."""
    check.write("## Bit-equality (20 iterations, small, deterministic algorithms)", "")
    if not check.real:
        check.write("Not shown: on the simulated device values are not computed.", "")
        return
    models = available(models)
    outcomes = iter(run_all(check, [(model, door, []) for model in models for door in ("plain", "entry_point")], 4))
    check.write("| model | losses, gradients, parameters, buffers, optimizer and random state |", "|---|---|")
    for model, plain, planned in zip(models, outcomes, outcomes):
        check.write(f"| {model} | {compare(check, model, plain, planned) if planned else 'not shown'} |")
    check.write("")


def budget_run(check: Check, **settings: str) -> dict | None:
    """What tests/budget/cuda_job.py left, or None."""
    door = "entry_point" if settings else "plain"
    print(f"  gpt, {settings.get('STOWAGE_BUDGET', 'plain')}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        environment = harness.environment(door, check.device, pathlib.Path(folder) / "report.json", settings)
        environment |= {"CUBLAS_WORKSPACE_CONFIG": ":16:8", "STOWAGE_SIM_DNN_WORKSPACE": "1MiB"}
        try:
            done = subprocess.run([sys.executable, "-m", "tests.budget.cuda_job", "12", "gpt"], text=True, cwd=ROOT,
                                  capture_output=True, env=environment, timeout=max(check.left_s(), 1))
        except subprocess.SubprocessError as error:
            return check.fail(f"budget: {error}")
    if done.returncode != 0:
        return check.fail(f"budget: ended with {done.returncode}: {done.stderr[-800:]}")
    return json.loads(done.stdout.splitlines()[-1])


def check_budget(check: Check) -> None:
    """A GPT with dropout in 60 % of its own peak: the same bits, and never more held than that."""
    check.write("## Budget (GPT with dropout, 60 % of its own peak, deterministic algorithms, 12 iterations)", "")
    if check.left_s() < 20:
        return check.write("Not shown: no time left.", "")
    plain, held = budget_run(check), budget_run(check, STOWAGE_BUDGET="60%")
    if plain is None or held is None:
        return check.write("Not shown.", "")
    budget = held["report"].get("budget") or {"limit_bytes": 0, "peak_held_bytes": 0, "evictions": 0, "recomputed_ops": 0}
    if held["error"] or not budget["evictions"]:
        check.fail(f"budget: {held['error'][-800:] or 'nothing was evicted'}")
    most = max(budget["peak_held_bytes"], held["reserved"], held.get("held", 0))
    if most > budget["limit_bytes"]:
        check.fail(f"budget: {most} bytes were held, {budget['limit_bytes']} allowed")
    differing = harness.differences(plain["digests"], held["digests"])
    if check.real and differing:
        check.fail(f"budget: {len(differing)} values differ, first {differing[0]}")
    bits = f"{len(differing)} of {len(plain['digests'])} differ" if check.real else "values are not computed"
    check.write("| limit, MiB | most held, MiB | evictions | ops run again | compared bit by bit |", "|---|---|---|---|---|",
                f"| {budget['limit_bytes'] / MIB:,.1f} | {most / MIB:,.1f} | {budget['evictions']} "
                f"| {budget['recomputed_ops']} | {bits} |", "")


def check_memory(check: Check, models: list[str]) -> None:
    """Each model three ways; one job at a time on a real device, since times are read."""
    size = "full" if check.real else "small"
    options = ["--size", size, "--iterations", "14", "--no-digests", "--any-algorithm"]
    check.write(f"## Memory and time ({size} size, 14 iterations)", "",
                "Reserved is read at the end; the time is the median of the last 6 iterations"
                f"{'.' if check.real else ', and the host’s alone.'}", "",
                "| model | allocator | peak allocated, MiB | reserved, MiB | ms per iteration | misses |",
                "|---|---|---|---|---|---|")
    jobs = [(model, label, door, extra) for model in available(models) for label, door, extra in WAYS]
    outcomes = run_all(check, [(model, door, options, extra) for model, _, door, extra in jobs], 1 if check.real else 2)
    for (model, label, door, _), outcome in zip(jobs, outcomes):
        if outcome is None:
            check.write(f"| {model} | {label} | not shown | | | |")
            continue
        memory, report = outcome.result["memory"], outcome.report
        check.write(f"| {model} | {label} | {memory['allocated_bytes.all.peak'] / MIB:,.1f} "
                    f"| {memory['reserved_bytes.all.current'] / MIB:,.1f} "
                    f"| {median(outcome.result['iteration_ns'][-6:]) / 1e6:.2f} "
                    f"| {report.get('last_iteration_misses', '')} |")
        if door != "plain" and report.get("state") != "planned":
            check.fail(f"{model}: ended {report.get('state', 'without a report')}")
    check.write("")


def run_program(check: Check, command: list[str], environment: dict[str, str]) -> str:
    """What the program printed; empty (and noted) if it failed or no time is left."""
    name = next(pathlib.Path(word).name for word in command if "hot_path" in word)
    if check.left_s() < 20:
        check.write(f"`{name}`: not shown, no time left.", "")
        return ""
    print(f"  {name}", flush=True)
    try:
        done = subprocess.run(command, text=True, capture_output=True, env=environment, cwd=ROOT, timeout=check.left_s())
    except (OSError, subprocess.SubprocessError) as error:
        check.fail(f"{name}: {error}")
        return ""
    if done.returncode != 0 or "ERROR OCCURRED" in done.stdout:
        check.fail(f"{name}: ended with {done.returncode}: {(done.stdout + done.stderr)[-800:]}")
        return ""
    return done.stdout


def check_hot_path(check: Check) -> None:
    """One planned allocation and free against PyTorch's native allocator's, and without PyTorch."""
    build = simulated.build_folder()
    environment = harness.clean_environment() | {"STOWAGE_BUILD": str(build)}
    check.write("## Hot path (ns of the host for one allocation and its free)", "")
    script = [sys.executable, "benchmarks/plugin/hot_path.py", "--device", check.device]
    shown = run_program(check, script if check.real else [*script, "--quick"], environment).splitlines()
    check.write("Through PyTorch (`benchmarks/plugin/hot_path.py`):", "",
                *[line for line in shown if line.startswith("|")], "")
    for program in sorted((build / "benchmarks").glob("*hot_path*")):
        if program.is_file() and os.access(program, os.X_OK):
            shown = run_program(check, [str(program), "--benchmark_min_time=0.05"], environment)
            check.write(f"Without PyTorch (`{program.name}`):", "", "```", shown.strip(), "```", "")


def ctest_summary(log: str) -> list[str]:
    if not log:
        return []
    text = pathlib.Path(log).read_text()
    summary = [line for line in text.splitlines() if "tests passed" in line or "No tests were found" in line]
    return ["## C++ tests on the device", "", *(summary or ["Not finished."]), ""]


def write_report(check: Check, arguments: argparse.Namespace) -> pathlib.Path:
    name = torch.cuda.get_device_name() if check.real else "the simulated device"
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    path = pathlib.Path(arguments.out) if arguments.out else ROOT / "docs" / "results" / f"gpu-{slug}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    head = [f"# Stowage on {name}", "",
            f"Written by `tools/gpu_check{' --dry' if arguments.dry else ''}` on {datetime.date.today()}; "
            f"torch {torch.__version__}, CUDA {torch.version.cuda}, Python {sys.version.split()[0]}.", "", "## Result", ""]
    result = ["All that was run passed."] if not check.failures else ["Failures:", ""] + [
        f"- {failure.splitlines()[0] if len(failure) > 300 else failure}" for failure in check.failures]
    path.write_text("\n".join([*head, *result, "", *ctest_summary(arguments.ctest_log), *check.lines]).rstrip() + "\n")
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dry", action="store_true", help="use the simulated device")
    parser.add_argument("--seconds", type=float, default=450, help="start nothing new after so many")
    parser.add_argument("--ctest-log", metavar="FILE", help="output of ctest, whose summary goes into the report")
    parser.add_argument("--out", metavar="FILE", help="the report; default docs/results/gpu-NAME.md")
    arguments = parser.parse_args()
    if not arguments.dry and not torch.cuda.is_available():
        print("error: torch sees no CUDA device; --dry uses the simulated one", file=sys.stderr)
        return 1
    check = Check("simulated" if arguments.dry else "cuda", time.monotonic() + arguments.seconds)
    check_doors(check)
    check_hot_path(check)
    check_budget(check)
    check_bits(check, ["resnet18", "gpt2", "unet", "lstm", "gan"])
    check_memory(check, ["resnet50", "gpt2", "unet", "vgg16", "lstm"] if check.real else ["unet", "gan"])
    path = write_report(check, arguments)
    print(f"{'FAILED: ' + str(len(check.failures)) if check.failures else 'passed'}; report in {path}")
    return 1 if check.failures else 0


if __name__ == "__main__":
    sys.exit(main())
