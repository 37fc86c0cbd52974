"""The largest batch that trains on simulated GPUs of 16 and 24 GiB: PyTorch alone, and with STOWAGE=1 and nothing else set.

    python benchmarks/budget/largest_batch.py                    # every job
    python benchmarks/budget/largest_batch.py --jobs NAME …      # some
    python benchmarks/budget/largest_batch.py --write            # and writes docs/results/largest_batch.md

Sizes and order of allocations are real on the simulated device; its ops have modelled times.
"""

import functools
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from benchmarks.budget.schedules import HOST_MEMORY  # noqa: E402
from benchmarks.pages import ROOT, Page  # noqa: E402
from tests.zoo import harness  # noqa: E402
from tools.gpu.largest_batch import GOAL, Search  # noqa: E402
from tools.table import ADDED, share_of_ops  # noqa: E402

PAGE = Page(__file__)
MEMORY = ("16GiB", "24GiB")
# By job: its model, how it trains, and a batch that PyTorch can hold in 16 GiB.
JOBS = {
    "ResNet-50": ("resnet50", (), 160), "GoogLeNet": ("googlenet", (), 256), "U-Net": ("unet", (), 8),
    "MobileNetV2": ("mobilenet_v2", (), 160), "VGG-16": ("vgg16", (), 160), "GPT-2 medium": ("gpt2_medium", (), 4),
    "1B Llama, AdamW": ("llama_1b", (), 1), "1B Llama, LoRA": ("llama_1b", ("--adapters", 16), 2),
}
SIDES = {"native": {}, "expandable": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}, "Stowage": {}}
ITERATIONS = {"native": 3, "expandable": 3, "Stowage": 20}
TRIES = 7
TOO_MANY_ELEMENTS = "canUse32BitIndexMath"  # of a kernel of PyTorch's: such a batch trains nowhere
CURVE = (1.5, 2, 3)  # times the batch of expandable segments
STEPS = " / ".join(f"{one}x" for one in CURVE)
HEAD = f"""# The largest batch that trains with nothing set

{PAGE.origin()}

On a simulated GPU with this much memory (`simulator/README.md`): PyTorch's native allocator, `expandable_segments:True`, and
`STOWAGE=1` with no other setting, whose budget is `auto` (docs/recompute.md), on a host with {HOST_MEMORY} of memory that
may be pinned for what is offloaded. *Trains*: {ITERATIONS["Stowage"]} iterations without an out-of-memory error,
{ITERATIONS["native"]} for PyTorch alone. The search doubles the batch, then halves the interval, {TRIES} tries at most or to
a tenth of the batch; 0: not even one sample trains. A batch for which PyTorch has no kernel trains nowhere. A sample of the
Llama is a sequence of 2,048 tokens, of GPT-2 one of 1,024. Overhead: what the schedule recomputes, encodes and waits for
copies, in percent of the time of the iteration's own ops, by modelled times; in brackets the least that any schedule within
these bytes could. *Rescue*: tensors are evicted on demand, there is no schedule by then.

| job | memory | native | expandable | Stowage | ratio to the better | overhead at {STEPS} | at the largest |
|---|---|---|---|---|---|---|---|
"""


@functools.cache
def report_of(job: str, side: str, memory: str, batch: int) -> dict | None:
    """Stowage's report, {} for another side; None if the job ended out of memory, or if PyTorch has no kernel for the batch.
    Raises RuntimeError for any other end."""
    model, options, _ = JOBS[job]
    door = "entry_point" if side == "Stowage" else "plain"
    commands = [["run", ITERATIONS[side]], *([["report"]] if side == "Stowage" else [])]
    words = ["tools/gpu/worker.py", "--model", model, "--size", "full", "--batch", batch, *options,
             "--do", json.dumps(commands)]
    with tempfile.TemporaryDirectory() as folder:
        settings = {"STOWAGE_SIM_MEMORY": memory, "STOWAGE_HOST_MEMORY": HOST_MEMORY, "OMP_NUM_THREADS": "1",
                    "STOWAGE_PLAN_CACHE": "off"} | SIDES[side]
        environment = harness.environment(door, "simulated", pathlib.Path(folder) / "report.json", settings)
        done = subprocess.run(harness.command(door, [str(word) for word in words]), env=environment, cwd=ROOT, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    answers = harness.answers_in(done.stdout)
    if any("out_of_memory" in answer for answer in answers) or TOO_MANY_ELEMENTS in done.stdout:
        return None
    if done.returncode != 0 or len(answers) < 2:
        raise RuntimeError(f"{job} with {side} at batch {batch} left no answer:\n{done.stdout[-2000:]}")
    return answers[-1] if side == "Stowage" else {}


def largest(job: str, side: str, memory: str, start: int) -> int:
    search = Search({}, max(start, 1), TRIES)
    while not search.over():
        search.put(report_of(job, side, memory, search.found["next"]) is not None)
    return search.found["trained"]


def overhead(job: str, memory: str, batch: int) -> str:
    report = report_of(job, "Stowage", memory, batch)
    if report is None:
        return "out of memory"
    budget = report.get("budget", {})
    schedule = budget.get("schedule", {})
    if not budget.get("evictions"):
        return "0"
    if not schedule.get("followed") or not schedule["ops_ms"]:
        return "rescue"
    return f"{share_of_ops(schedule, *ADDED):.1f} (≥ {share_of_ops(schedule, 'least_ms'):.1f})"


def row(job: str, memory: str) -> tuple[str, float]:
    """A line of the table, and Stowage's batch over the better of PyTorch's."""
    native, expandable = (largest(job, side, memory, JOBS[job][2]) for side in ("native", "expandable"))
    better = max(native, expandable)
    most = largest(job, "Stowage", memory, int(GOAL * better) or 1)
    ratio = most / better if better else float("inf")
    curve = [overhead(job, memory, round(times * better)) if better and times * better <= most else "-" for times in CURVE]
    cells = [job, memory, str(native), str(expandable), str(most), f"{ratio:.1f}" if better else "-", " / ".join(curve),
             overhead(job, memory, most) if most else "-"]
    return f"| {' | '.join(cells)} |", ratio


def main() -> None:
    parser = PAGE.parser(__doc__, quick="one job on a smaller device, and one batch")
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=list(JOBS))
    parser.add_argument("--memory", nargs="+", default=list(MEMORY), metavar="BYTES", help="of the devices")
    arguments = PAGE.parse(parser, "jobs", "memory")
    lines = []
    for job, memory in [] if arguments.quick else itertools.product(arguments.jobs, arguments.memory):
        lines.append(row(job, memory)[0])
        print(lines[-1], flush=True)
    if arguments.quick:
        lines.append(f"| ResNet-50 | 8GiB | - | - | 160 | - | - | {overhead('ResNet-50', '8GiB', 160)} |")
        print(lines[-1])
    PAGE.write(arguments, HEAD + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
