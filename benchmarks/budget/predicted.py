"""What schedules predict against what their iterations take, on the CPU: overhead and peak.

    python benchmarks/budget/predicted.py                 # every job
    python benchmarks/budget/predicted.py --jobs NAME …   # some
    python benchmarks/budget/predicted.py --write         # and writes docs/results/predicted.md

The 21 jobs of the page of budgets, each plain and with STOWAGE=1 STOWAGE_BUDGET=SHARE in a process of its own.
"""

import json
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from benchmarks.pages import Page, machine, table  # noqa: E402
from tests.budget.jobs import DEEP  # noqa: E402
from tests.budget.runs import process  # noqa: E402
from tools.table import COMPUTED, share_of_ops  # noqa: E402

PAGE = Page(__file__)
SHARES = (75, 50)
WARM = 30  # iterations in which the job comes to follow a schedule, and to be planned
WATCHED = 20
HEAD = ("job", "budget", "state", "recomputed, predicted", "recomputed, measured", "measured / predicted",
        "iteration / plain", "peak, predicted", "peak, measured", "measured / predicted")


def watch(name: str) -> None:
    """In the job's process: prints what its last iterations took, and Stowage's report before and behind them."""
    import torch
    from tests.budget import job
    torch.set_num_threads(1)
    trainer = job.JOBS[name]()
    for i in range(WARM):
        trainer.step(i)
    before, seconds, peaks = job.report(), [], []
    for i in range(WARM, WARM + WATCHED):
        began = time.thread_time()
        trainer.step(i)
        seconds.append(time.thread_time() - began)
        if before:
            peaks.append(job.report()["budget"]["iteration_peak_held_bytes"])
    print(json.dumps({"seconds": statistics.median(seconds), "peaks": peaks, "before": before, "after": job.report()}))


def watched(name: str, **settings: str) -> dict:
    done = process(str(pathlib.Path(__file__)), "--watch", name, **settings)
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1]
        return {"error": "out of memory" if "OutOfMemoryError" in last else last}
    return json.loads(done.stdout.splitlines()[-1])


def grown(left: dict, *keys: str) -> float:
    """How far these times of the budget rose in the watched iterations, in ms."""
    return sum(left["after"]["budget"][key] - left["before"]["budget"][key] for key in keys)


def row(name: str, share: int) -> tuple[tuple[str, ...], dict[str, float]]:
    """Cells of the table, and the ratios in them."""
    plain = watched(name)
    left = watched(name, STOWAGE="1", STOWAGE_DEVICES="cpu", STOWAGE_BUDGET=f"{share}%", STOWAGE_PLAN_CACHE="off",
                   STOWAGE_PLAN_WAIT_MS="10000")
    plain_s = min(plain["seconds"], watched(name)["seconds"])
    if "error" in left:
        return (name, f"{share} %", left["error"], *(len(HEAD) - 3) * ("",)), {}
    schedule, state = left["after"]["budget"]["schedule"], left["after"]["state"]
    if not schedule["followed"]:
        return (name, f"{share} %", f"{state}: {schedule['reason']}", *(len(HEAD) - 3) * ("",)), {}
    predicted, measured = share_of_ops(schedule, *COMPUTED), 100 * grown(left, "recompute_ms") / grown(left, "ops_ms")
    planned = schedule["height_bytes" if state == "planned" else "peak_bytes"]
    peak = statistics.median(left["peaks"])
    ratios = {"overhead": measured / predicted if predicted else 1.0, "time": left["seconds"] / plain_s,
              "peak": peak / planned}
    return (name, f"{share} %", state, f"{predicted:.1f} %", f"{measured:.1f} %", f"{ratios['overhead']:.2f}",
            f"{ratios['time']:.2f}", f"{planned / (1 << 20):.2f} MiB", f"{peak / (1 << 20):.2f} MiB",
            f"{ratios['peak']:.3f}"), ratios


def page(rows: list[tuple[str, ...]], ratios: list[dict[str, float]]) -> str:
    near = sum(abs(one["overhead"] - 1) <= 0.2 for one in ratios)
    exact = sum(abs(one["peak"] - 1) <= 0.01 for one in ratios)
    return f"""# Schedules: predicted against measured

{PAGE.origin()}

Iterations {WARM} to {WARM + WATCHED} of each job on the CPU, one thread, under a share of its own peak. *Recomputed*:
time of ops run again and of encoding, in percent of the time of the job's own ops: by the times that the schedule was made
with, and by the host's clock. *Iteration / plain*: processor time of the job's thread for an iteration, against the plain
job's, medians: what the runtime itself takes is in it, and these tensors are small. *Peak*: what the schedule, or under a
plan its arena with all that stays, is to hold, and the most that was held in an iteration. Goals: overhead within 20 %, peak
within 1 %.

{near} of {len(ratios)} overheads and {exact} of {len(ratios)} peaks are within these; no job holds more than predicted by
over {max(0.0, max(one["peak"] for one in ratios) - 1):.1%}.

{table([HEAD, *rows])}

What predictions do not know. Peaks are in blocks of 512 bytes, as CUDA's allocator has them, and the CPU's allocator counts
bytes: of hundreds of tiny parameters, gradients and states that is 0.1 to 0.2 MiB. The batches of DataLoader's workers
(fed_by_workers) lie in shared memory, which is not counted against the limit. The ops of an evaluation
(evaluated_perceptron) are the job's own, and in no schedule. Ops were timed when each tensor was malloc's, whose pages are
new now and then; in an arena they are not, so what runs again there may take less. Of a few short ops one time decides.

Machine: {machine()}.
"""


def main() -> None:
    parser = PAGE.parser(__doc__, quick="one job only")
    parser.add_argument("--jobs", nargs="+", choices=list(DEEP.values()), default=list(DEEP.values()))
    parser.add_argument("--watch", metavar="NAME", help="run this job here, and print what it took")
    arguments = PAGE.parse(parser, "jobs", "watch")
    if arguments.watch:
        return watch(arguments.watch)
    rows, ratios = [], []
    for name in arguments.jobs[:1] if arguments.quick else arguments.jobs:
        for share in SHARES:
            cells, found = row(name, share)
            rows.append(cells)
            ratios += [found] if found else []
            print(*cells, sep=" | ", flush=True)
    PAGE.write(arguments, page(rows, ratios))


if __name__ == "__main__":
    main()
