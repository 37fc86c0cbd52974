"""The demonstration behind tools/demo: the same job plain, with Stowage, and replayed offline, in tables.

Every figure is of this run. Exit status 1 if a piece failed or the bits differ.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch

from tests.zoo import harness
from tests.zoo.job import digest_all

MIB = 1 << 20
COLUMNS = ("", "peak live", "reserved", "fragmentation", "per iteration", "loss at the end", "bits")


@dataclass
class Run:
    """One finished training run."""

    losses: list[float] = field(default_factory=list)
    digests: dict[str, str] = field(default_factory=dict)
    iteration_ms: float = 0.0
    result: dict = field(default_factory=dict)
    report: dict = field(default_factory=dict)


class Failure(Exception):
    pass


def progress(text: str) -> None:
    """The line that shows what is being done; overwritten in a terminal, one line each elsewhere."""
    if sys.stdout.isatty():
        print(f"\r\033[K  … {text}", end="", flush=True)
    elif "(" not in text:
        print(f"  … {text}", flush=True)


def clear_progress() -> None:
    if sys.stdout.isatty():
        print("\r\033[K", end="", flush=True)


def train(label: str, door: str, script: list[str], device: str, extra: dict[str, str], folder: pathlib.Path) -> dict:
    """Runs a job, showing its progress; returns Stowage's report (empty if plain). Raises Failure."""
    progress(label)
    report = folder / f"{door}.json"
    job = subprocess.Popen(harness.command(door, script), cwd=ROOT, text=True, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, env=harness.environment(door, device, report, extra))
    output = []
    for line in job.stdout:
        output.append(line)
        if match := re.match(r"iteration +(\d+)", line):
            progress(f"{label} (iteration {match[1]})")
    if job.wait() != 0:
        raise Failure(f"{label}: the job ended with {job.returncode}:\n{''.join(output[-20:])}")
    if door != "plain" and not report.exists():
        raise Failure(f"{label}: Stowage left no report. The job's last lines:\n{''.join(output[-20:])}")
    return json.loads(report.read_text()) if report.exists() else {}


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def print_table(title: str, rows: list[tuple]) -> None:
    clear_progress()
    print(f"\n{title}\n")
    cells = [COLUMNS, *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(COLUMNS))]
    for number, row in enumerate(cells):
        print("  " + row[0].ljust(widths[0]) + "".join("   " + cell.rjust(w) for cell, w in zip(row[1:], widths[1:])))
        if number == 0:
            print("  " + "─" * (sum(widths) + 3 * len(widths) - 3))


def mib(value: float | None) -> str:
    return "–" if value is None else f"{value / MIB:,.1f} MiB"


def share(peak: float, reserved: float) -> str:
    return f"{100 * max(0.0, 1 - peak / reserved):.1f} %" if reserved else "–"


def same(a: Run, b: Run) -> str:
    differing = harness.differences(a.digests, b.digests)
    return "equal" if not differing else f"{len(differing)} DIFFER"


# -- the character GPT, for real ---------------------------------------------------------------------------------------

def train_example(label: str, door: str, device: str, iterations: int, folder: pathlib.Path) -> Run:
    saved = folder / f"{door}.pt"
    script = ["examples/char_gpt.py", "--device", device, "--iterations", str(iterations), "--print-every", "5",
              "--save", str(saved)]
    # The job's own number of threads, as a user would run it.
    extra = {"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    if door != "plain":
        extra["STOWAGE_TRACE"] = str(folder / "job.stowtrace")
    run = Run()
    started = time.perf_counter()
    run.report = train(label, door, script, device, extra, folder)
    run.result["wall_s"] = time.perf_counter() - started
    state = torch.load(saved, weights_only=True)
    run.losses = state["losses"]
    run.iteration_ms = median(state.pop("iteration_ms")[iterations // 2:])
    digest_all(state, "state", run.digests)
    return run


def replay(folder: pathlib.Path) -> dict:
    """The offline planner's figures for the trace that the job left. Raises Failure."""
    progress("offline replay of its trace")
    done = subprocess.run([*harness.LAUNCHER, "replay", str(folder / "job.stowtrace"), "--json"], text=True,
                          capture_output=True, timeout=120)
    if done.returncode != 0:
        raise Failure(f"stowage replay failed:\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def show_example(iterations: int) -> bool:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        plain = train_example("plain PyTorch", "plain", device, iterations, folder)
        planned = train_example("with Stowage", "entry_point", device, iterations, folder)
        offline = replay(folder)
    report = planned.report
    peak, before, after = (report[key] for key in ("peak_live_bytes", "reserved_before_bytes", "reserved_after_bytes"))
    height = offline["height"] / max(1, offline["lower_bound"])
    rows = [
        ("plain PyTorch", mib(peak), mib(before), share(peak, before), f"{plain.iteration_ms:.1f} ms",
         f"{plain.losses[-1]:.6f}", ""),
        ("with Stowage", mib(peak), mib(after), share(peak, after), f"{planned.iteration_ms:.1f} ms",
         f"{planned.losses[-1]:.6f}", same(plain, planned)),
        ("offline replay", mib(offline["peak_live"]), mib(offline["reserved"]), f"{100 * offline['fragmentation']:.1f} %",
         "–", "–", ""),
    ]
    print_table(f"A character GPT on {device}, {iterations} iterations on the text of Python's standard library", rows)
    print(f"\n  Stowage ended {report['state']}: {report['hits']:,} requests served from the plan, "
          f"{report['last_iteration_misses']} missed in the last iteration."
          f"\n  The plan is {height:.3f} of the lower bound. Plain PyTorch's memory was read while Stowage recorded.")
    return report["state"] == "planned" and same(plain, planned) == "equal"


# -- a CUDA GPT on the simulated device --------------------------------------------------------------------------------

def train_simulated(label: str, door: str, iterations: int, extra: dict[str, str], folder: pathlib.Path) -> Run:
    out = folder / f"{label.split()[0]}.json"
    script = [harness.RUN_JOB, "--model", "gpt2", "--size", "full", "--device", "cuda", "--iterations", str(iterations),
              "--no-digests", "--any-algorithm", "--out", str(out)]
    run = Run(report=train(label, door, script, "simulated", extra, folder))
    run.result = json.loads(out.read_text())
    run.iteration_ms = median(run.result["iteration_ns"][iterations // 2:]) / 1e6
    return run


def show_simulated(iterations: int) -> bool:
    expandable = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        runs = {
            "native segments": train_simulated("native segments, simulated", "plain", iterations, {}, folder),
            "expandable segments": train_simulated("expandable segments, simulated", "plain", iterations, expandable,
                                                   folder),
            "with Stowage": train_simulated("Stowage, simulated", "entry_point", iterations, {}, folder),
        }
    rows = []
    for label, run in runs.items():
        memory = run.result["memory"]
        peak, reserved = memory["allocated_bytes.all.peak"], memory["reserved_bytes.all.current"]
        rows.append((label, mib(peak), mib(reserved), share(peak, reserved), f"{run.iteration_ms:.1f} ms host", "–", "–"))
    print_table("GPT-2 small, batch 8 of 1,024 tokens, on a simulated CUDA device (sizes are real, values are not)", rows)
    report = runs["with Stowage"].report
    print(f"\n  Stowage ended {report['state']}, {report['last_iteration_misses']} misses in the last iteration.")
    return report["state"] == "planned"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer iterations")
    quick = parser.parse_args().quick
    started = time.perf_counter()
    good = True
    for show, iterations in ((show_example, 25 if quick else 150), (show_simulated, 8 if quick else 12)):
        try:
            good = show(iterations) and good
        except (Failure, OSError, KeyError, subprocess.SubprocessError) as error:
            clear_progress()
            print(f"\n  This part could not be shown: {type(error).__name__}: {error}")
            good = False
    print(f"\n  {time.perf_counter() - started:.0f} s in all.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
