"""The Python half of tools/gpu_check: every front door, bit-equality, memory and time, written as Markdown.

Runs on a real CUDA device, or with --dry on the simulated one (quick sizes; bits and times mean nothing there).
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
import time
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch

from tests.zoo import harness, simulated

MIB = 1 << 20
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}


@dataclass
class Check:
    """What is run where, what was found, and how much time is left."""

    device: str  # "cuda" or "simulated"
    size: str
    deadline: float
    lines: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def write(self, *lines: str) -> None:
        self.lines += lines

    def left_s(self) -> float:
        return self.deadline - time.monotonic()

    def fail(self, what: str) -> None:
        self.failures.append(what)
        print(f"  FAILED: {what}", flush=True)


def available(models: list[str]) -> list[str]:
    """Those of `models` whose libraries are installed here."""
    needs = {"resnet50": "torchvision", "resnet18": "torchvision", "vgg16": "torchvision", "gpt2": "transformers",
             "llama": "transformers"}
    return [m for m in models if m not in needs or importlib.util.find_spec(needs[m])]


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


def check_doors(check: Check) -> None:
    """Each door on one model: planned, without misses, and bit-equal (real device) to the plain run."""
    model = available(["resnet18", "unet"])[0]
    options = ["--iterations", "12"] + (["--no-digests"] if check.device == "simulated" else [])
    check.write(f"## Front doors ({model}, small, deterministic algorithms, 12 iterations)", "",
                "| door | state | planned after | misses in the last iteration | bits |", "|---|---|---|---|---|")
    plain = run(check, model, "plain", options)
    for door in harness.CUDA_DOORS:
        outcome = run(check, model, door, options)
        if outcome is None:
            check.write(f"| {door} | not shown | | | |")
            continue
        report = outcome.report
        state, misses = report.get("state", "no report"), report.get("last_iteration_misses", "")
        bits = "–"
        if check.device == "cuda" and plain is not None:
            differing = harness.differences(plain.digests, outcome.digests)
            bits = "equal" if not differing else f"{len(differing)} differ, first {differing[0]}"
            if differing:
                check.fail(f"{door}: {bits}")
        if state != "planned" or misses != 0:
            check.fail(f"{door}: state {state}, {misses} misses in the last iteration. {report.get('reason', '')}")
        check.write(f"| {door} | {state} | {report.get('switched_at_iteration', '')} | {misses} | {bits} |")
    check.write("")


def check_bits(check: Check, models: list[str]) -> None:
    """Losses, gradients, parameters, buffers, optimizer and RNG state, plain against planned."""
    if check.device == "simulated":
        return
    check.write("## Bit-equality (20 iterations, small, deterministic algorithms)", "",
                "| model | tensors and values compared | differing |", "|---|---|---|")
    for model in available(models):
        plain, planned = (run(check, model, door, []) for door in ("plain", "entry_point"))
        if plain is None or planned is None:
            check.write(f"| {model} | not shown | |")
            continue
        differing = harness.differences(plain.digests, planned.digests)
        if differing:
            check.fail(f"{model}: {len(differing)} values differ, first {differing[0]}")
        check.write(f"| {model} | {len(plain.digests)} | {len(differing)} |")
    check.write("")


def memory_row(outcome) -> tuple[float, float, float]:
    """Peak allocated and reserved at the end, in MiB, and the median time of the second half's iterations, in ms."""
    memory, times = outcome.result["memory"], sorted(outcome.result["iteration_ns"][-6:])
    return (memory["allocated_bytes.all.peak"] / MIB, memory["reserved_bytes.all.current"] / MIB,
            times[len(times) // 2] / 1e6)


def check_memory(check: Check, models: list[str]) -> None:
    check.write(f"## Memory and time ({check.size} size, 14 iterations)", "",
                "Reserved is read at the end; the time is the median of the last 6 iterations.", "",
                "| model | allocator | peak allocated, MiB | reserved, MiB | ms per iteration | misses |",
                "|---|---|---|---|---|---|")
    options = ["--size", check.size, "--iterations", "14", "--no-digests", "--any-algorithm"]
    ways = [("native", "plain", {}), ("expandable segments", "plain", EXPANDABLE), ("Stowage", "entry_point", {})]
    for model in available(models):
        for label, door, extra in ways:
            outcome = run(check, model, door, options, extra)
            if outcome is None:
                check.write(f"| {model} | {label} | not shown | | | |")
                continue
            peak, reserved, ms = memory_row(outcome)
            misses = outcome.report.get("last_iteration_misses", "")
            check.write(f"| {model} | {label} | {peak:,.1f} | {reserved:,.1f} | {ms:.2f} | {misses} |")
            if door != "plain" and outcome.report.get("state") != "planned":
                check.fail(f"{model}: ended {outcome.report.get('state', 'without a report')}")
    check.write("")


def check_hot_path(check: Check) -> None:
    """The benchmark programs that time one allocation and free, on this device."""
    programs = sorted((simulated.build_folder() / "benchmarks").glob("*hot_path*"))
    programs = [p for p in programs if os.access(p, os.X_OK) and p.is_file()]
    check.write("## Hot path (Google Benchmark, one allocation and free)", "")
    if not programs:
        check.write("Not shown: no program named `*hot_path*` was built.", "")
    for program in programs:
        if check.left_s() < 20:
            check.write(f"`{program.name}`: not shown, no time left.", "")
            continue
        environment = harness.clean_environment()
        if check.device == "simulated":
            environment |= simulated.environment(base=environment)
        done = subprocess.run([str(program), "--benchmark_min_time=0.05"], text=True, capture_output=True,
                              env=environment, timeout=check.left_s())
        check.write("```", done.stdout.strip(), "```", "")
        if done.returncode != 0 or "ERROR OCCURRED" in done.stdout:
            check.fail(f"{program.name}: ended with {done.returncode}: {done.stderr[-500:]}")


def device_name(check: Check) -> str:
    if check.device == "cuda":
        return torch.cuda.get_device_name()
    return "simulated device"


def write_report(check: Check, arguments: argparse.Namespace) -> pathlib.Path:
    name = device_name(check)
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    path = pathlib.Path(arguments.out) if arguments.out else ROOT / "docs" / "results" / f"gpu-{slug}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    head = [f"# Stowage on {name}", "",
            f"Written by `tools/gpu_check{' --dry' if arguments.dry else ''}` on {datetime.date.today()}; "
            f"torch {torch.__version__}, CUDA {torch.version.cuda}, Python {sys.version.split()[0]}.", ""]
    if arguments.ctest_log:
        summary = [line for line in pathlib.Path(arguments.ctest_log).read_text().splitlines()
                   if "tests passed" in line or "No tests were found" in line]
        head += ["## C++ tests labelled `gpu`", "", *summary, ""]
    result = ["Everything that was run passed."] if not check.failures else ["Failures:", ""] + [
        f"- {failure.splitlines()[0] if len(failure) > 300 else failure}" for failure in check.failures]
    path.write_text("\n".join([*head, "## Result", "", *result, "", *check.lines]).rstrip() + "\n")
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
    check = Check("simulated" if arguments.dry else "cuda", "small" if arguments.dry else "full",
                  time.monotonic() + arguments.seconds)
    check_doors(check)
    check_hot_path(check)
    check_bits(check, ["resnet18", "gpt2", "unet", "lstm", "gan"])
    check_memory(check, ["unet", "gan"] if arguments.dry else ["resnet50", "gpt2", "unet", "vgg16", "lstm"])
    path = write_report(check, arguments)
    print(f"{'FAILED: ' + str(len(check.failures)) if check.failures else 'passed'}; report in {path}")
    return 1 if check.failures else 0


if __name__ == "__main__":
    sys.exit(main())
