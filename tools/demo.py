"""The demonstration behind tools/demo: the same job plain, with Stowage, and replayed offline, in tables.

Every figure is of this run. Exit status 1 if a piece failed or the bits differ.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch

from tests.zoo import harness
from tests.zoo.job import digest_all
from tools.jobs import Failure, Job, median, run_together
from tools.table import ADDED, NONE, fragmentation, lines, mib, share_of_ops


def progress(text: str, passing: bool = False) -> None:
    """The line that shows what is being done; in a terminal overwritten, elsewhere printed unless `passing`."""
    if sys.stdout.isatty():
        print(f"\r\033[K  … {text}", end="", flush=True)
    elif not passing:
        print(f"  … {text}", flush=True)


def show(title: str, head: tuple[str, ...], rows: list[tuple[str, ...]], notes: list[str]) -> None:
    if sys.stdout.isatty():
        print("\r\033[K", end="")
    print(f"\n{title}\n")
    print("\n".join(f"  {line}".rstrip() for line in [*lines(head, rows), "", *notes]), flush=True)


def make_job(label: str, door: str, script: list[str], device: str, folder: pathlib.Path,
             extra: dict[str, str] | None = None) -> Job:
    return Job(label, harness.command(door, script),
               harness.environment(door, device, folder / f"{label}.report.json", extra or {}))


def report_of(job: Job, folder: pathlib.Path) -> dict:
    path = folder / f"{job.label}.report.json"
    if not path.exists():
        raise Failure(f"{job.label}: Stowage left no report. The job's last lines:\n{''.join(job.output[-20:])}")
    return json.loads(path.read_text())


PLAIN = {"cpu": "plain PyTorch *", "cuda": "plain PyTorch"}


# -- a character GPT, for real -----------------------------------------------------------------------------------------

def train_example(device: str, iterations: int, folder: pathlib.Path) -> dict[str, Job]:
    """The plain job and the planned one, one thread each; at the same time on the CPU, in turn on a GPU."""
    def job(label: str, door: str, extra: dict[str, str]) -> Job:
        script = ["examples/char_gpt.py", "--device", device, "--iterations", str(iterations), "--print-every", "5",
                  "--save", str(folder / f"{label}.pt")]
        return make_job(label, door, script, device, folder, extra)

    jobs = {"plain": job("plain", "plain", {}),
            "Stowage": job("Stowage", "entry_point", {"STOWAGE_TRACE": str(folder / "job.stowtrace")})}

    def tell() -> None:
        progress(", ".join(f"{job.label}: iteration {job.iteration} of {iterations}" for job in jobs.values()),
                 passing=True)

    progress("training the character GPT, plain and with Stowage")
    for group in ([jobs.values()] if device == "cpu" else [[job] for job in jobs.values()]):
        run_together(list(group), tell)
    return jobs


def replay(trace: pathlib.Path) -> dict:
    """The offline planner's figures for the trace that the job left. Raises Failure."""
    progress("replaying its trace offline")
    done = subprocess.run([*harness.LAUNCHER, "replay", str(trace), "--json"], text=True, capture_output=True, timeout=60)
    if done.returncode != 0:
        raise Failure(f"stowage replay failed:\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def plain_memory(device: str, state: dict, report: dict) -> tuple[str, str, str]:
    """Peak live, reserved and fragmentation of the plain run."""
    if device == "cuda":
        peak, reserved = state["cuda_memory"]["peak"], state["cuda_memory"]["reserved"]
        return mib(peak), mib(reserved), fragmentation(peak, reserved)
    return mib(report["peak_live_bytes"]), NONE, NONE


def example_rows(device: str, jobs: dict[str, Job],
                 folder: pathlib.Path) -> tuple[list[tuple[str, ...]], int, list[str]]:
    """The table's rows for the two jobs, how many values were compared, and the names of those that differ."""
    states = {label: torch.load(folder / f"{label}.pt", weights_only=True) for label in jobs}
    report, digests, rows = report_of(jobs["Stowage"], folder), {"plain": {}, "Stowage": {}}, []
    planned = (mib(report["peak_live_bytes"]), mib(report["reserved_after_bytes"]),
               fragmentation(report["peak_live_bytes"], report["reserved_after_bytes"]))
    memory = {"plain": plain_memory(device, states["plain"], report), "Stowage": planned}
    for label, state in states.items():
        times = state.pop("iteration_ms")
        state.pop("cuda_memory", None)
        digest_all(state, "state", digests[label])
        rows.append([PLAIN[device] if label == "plain" else "with Stowage", *memory[label],
                     mib(jobs[label].resident_bytes), f"{median(times[len(times) // 2:]):.1f} ms",
                     f"{state['losses'][-1]:.6f}", NONE])
    differing = harness.differences(digests["plain"], digests["Stowage"])
    rows[1][-1] = f"{len(differing)} DIFFER" if differing else "equal"
    return [tuple(row) for row in rows], len(digests["plain"]), differing


def replay_rows(offline: dict) -> list[tuple[str, ...]]:
    def row(label: str, figures: dict) -> tuple[str, ...]:
        peak, reserved = figures["peak_live"], figures["reserved"]
        return (f"replay: {label}", mib(peak), mib(reserved), fragmentation(peak, reserved), *[NONE] * 4)

    compared = {"PyTorch's CUDA": offline["compare"]["caching"], "expandable": offline["compare"]["expandable"]}
    modelled = [row(label, figures) for label, figures in compared.items() if figures]  # of a CUDA job's trace only
    return [row("Stowage", offline), *modelled]


def explain_example(device: str, compared: int) -> list[str]:
    notes = ["peak live      the most that the job's tensors need at one time",
             "reserved       the most that the allocator holds for them; fragmentation: the share that no tensor needs",
             "resident       the most that the process holds of the machine, libraries and all, as Linux counts",
             "iteration      median time of the second half" + ("; both jobs ran side by side, one thread each"
                                                              if device == "cpu" else ""),
             f"bits           {compared:,} values: losses, gradients, parameters, optimizer and random state",
             "replay         the recorded trace played again offline, through its plan"]
    if device == "cpu":
        notes.append("*              PyTorch's CPU allocator keeps no count and no reserve: peak as recorded beside it")
    return notes


def show_example(iterations: int, folder: pathlib.Path) -> bool:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    jobs = train_example(device, iterations, folder)
    rows, compared, differing = example_rows(device, jobs, folder)
    offline = replay(folder / "job.stowtrace")
    report = report_of(jobs["Stowage"], folder)
    head = ("", "peak live", "reserved", "fragmentation", "resident", "iteration", "last loss", "bits")
    notes = explain_example(device, compared)
    notes += ["", f"Stowage switched to its plan after iteration {report['switched_at_iteration']}; "
              f"{report['hits']:,} requests were served from it, {sum(report['misses'].values())} missed.",
              f"Its arena is {mib(offline['height'])}; no plan for these tensors can do with less than "
              f"{mib(offline['lower_bound'])}."]
    title = f"1. A character GPT trained on {device.upper()}, {iterations} iterations"
    show(title, head, rows + replay_rows(offline), notes)
    return report["state"] == "planned" and not differing


# -- a CUDA GPT on the simulated device --------------------------------------------------------------------------------

def train_simulated(label: str, door: str, iterations: int, folder: pathlib.Path,
                    extra: dict[str, str]) -> tuple[Job, dict]:
    out = folder / f"{label}.json"
    script = [harness.RUN_JOB, "--model", "gpt2", "--size", "full", "--device", "cuda", "--iterations", str(iterations),
              "--no-digests", "--any-algorithm", "--out", str(out)]
    job = make_job(label, door, script, "simulated", folder, extra)
    progress(f"training GPT-2 on the simulated device: {label}")
    run_together([job], lambda: None)
    return job, json.loads(out.read_text())


def simulated_row(label: str, result: dict, misses: str) -> tuple[str, ...]:
    memory, half = result["memory"], len(result["iteration_ns"]) // 2
    peak, reserved = memory["allocated_bytes.all.peak"], memory["reserved_bytes.all.current"]
    return (label, mib(peak), mib(reserved), fragmentation(peak, reserved),
            f"{median(result['iteration_ns'][half:]) / 1e6:.1f} ms", str(result["memory_calls"][-1]), misses)


def show_simulated(iterations: int, folder: pathlib.Path) -> bool:
    expandable = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
    _, native = train_simulated("native", "plain", iterations, folder, {})
    _, expanded = train_simulated("expandable", "plain", iterations, folder, expandable)
    job, planned = train_simulated("Stowage", "entry_point", iterations, folder, {})
    report = report_of(job, folder)
    rows = [simulated_row("PyTorch's CUDA allocator", native, NONE),
            simulated_row("expandable segments", expanded, NONE),
            simulated_row("with Stowage", planned, str(report["last_iteration_misses"]))]
    head = ("", "peak live", "reserved", "fragmentation", "host time", "device calls", "misses")
    notes = ["Real PyTorch on a stand-in for the GPU: sizes and order of allocations are real; values are not computed,",
             "so there is no loss and there are no bits to compare, and the time is the host's part alone.",
             "host time      of one iteration; median of the second half",
             "device calls   for memory in the last iteration (cudaMalloc, cudaFree, mapping)",
             "misses         requests of the last iteration that did not follow the plan"]
    title = f"2. GPT-2 small, batch 8 of 1,024 tokens, on a simulated CUDA device, {iterations} iterations"
    show(title, head, rows, notes)
    return report["state"] == "planned" and report["last_iteration_misses"] == 0


# -- the same on a device that is too small ----------------------------------------------------------------------------

SMALL = 8 << 30  # bytes; the job takes 14.5 GiB


def train_on_small(label: str, door: str, iterations: int, folder: pathlib.Path, extra: dict[str, str]) -> dict | None:
    """What the job last answered; None: it ended out of memory. Raises Failure for any other end."""
    script = ["tools/gpu/worker.py", "--model", "gpt2", "--size", "full", "--do",
              json.dumps([["run", iterations], *([["report"]] if door != "plain" else [])])]
    job = make_job(label, door, script, "simulated", folder,
                   {"STOWAGE_SIM_MEMORY": str(SMALL), "STOWAGE_PLAN_CACHE": "off"} | extra)
    progress(f"training it on a device of {mib(SMALL)}: {label}")
    run_together([job], lambda: None)
    answers = harness.answers_in("".join(job.output))
    if any("out_of_memory" in answer for answer in answers):
        return None
    if len(answers) < 2:
        raise Failure(f"{label}: the job left no answer:\n{''.join(job.output[-20:])}")
    return answers[-1]


def small_row(label: str, report: dict) -> tuple[str, ...]:
    budget = report["budget"]
    schedule = budget["schedule"]
    takes, least = (share_of_ops(schedule, *keys) if schedule["ops_ms"] else 0 for keys in (ADDED, ("least_ms",)))
    return (label, "trains", mib(budget["peak_held_bytes"]), str(schedule["evictions"]), str(schedule["recomputed_ops"]),
            f"{takes:.1f} %", f"{least:.1f} %")


def show_small(iterations: int, folder: pathlib.Path) -> bool:
    expandable = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
    rows, trained = [], []
    for label, name, extra in (("PyTorch's CUDA allocator", "native", {}),
                               ("expandable segments", "expandable", expandable)):
        trained.append(train_on_small(name, "plain", 2, folder, extra))
        rows.append((label, "out of memory" if trained[-1] is None else "trains", *[NONE] * 5))
    report = train_on_small("Stowage", "entry_point", iterations, folder, {})
    rows.append(("with Stowage", "out of memory", *[NONE] * 5) if report is None else small_row("with Stowage", report))
    head = ("", "", "held at most", "evicted", "ops again", "overhead", "least possible")
    notes = ["STOWAGE=1, and nothing else is set: when the device is nearly full, Stowage begins to see the job's ops.",
             "evicted        tensors in each iteration; ops again: ops that run again for them",
             "overhead       what running them again and waiting for copies takes, of the time of the iteration's own ops,",
             "               by modelled times; least possible: a bound below which no schedule in this memory can be"]
    show(f"3. The same GPT-2 on a simulated device of {mib(SMALL)}", head, rows, notes)
    return report is not None and report["budget"]["schedule"]["followed"] and trained == [None, None]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer iterations")
    quick = parser.parse_args().quick
    started = time.perf_counter()
    good = True
    for part, iterations in ((show_example, 20 if quick else 120), (show_simulated, 6 if quick else 12),
                             (show_small, 12 if quick else 20)):
        try:
            with tempfile.TemporaryDirectory() as folder:
                good = part(iterations, pathlib.Path(folder)) and good
        except (Failure, OSError, KeyError, ValueError, subprocess.SubprocessError) as error:
            print(f"\n  This part could not be shown: {type(error).__name__}: {error}")
            good = False
    print(f"\n  {time.perf_counter() - started:.0f} s in all.{'' if good else ' Not all is as it should be; see above.'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
