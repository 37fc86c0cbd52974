"""Whether CUPTI gives Stowage the times of kernels, beside PyTorch's profiler as an independent witness, and whether either
spoils the other: a profile that begins with the recording, in the middle of it or after it has every kernel of the job.
"""

import json
import statistics

from tests.zoo import simulated
from tools.gpu import jobs
from tools.gpu.jobs import PLAIN, Spec
from tools.gpu.recipes import AMP, Recipe
from tools.gpu.results import Result
from tools.gpu.suite import Run, Step

SECTION = "Op times"
RECIPE = Recipe("gpt2_small", AMP, 12)
PROFILED = 3  # iterations
TITLE = "Kernels of an iteration, by Stowage's recording and by PyTorch's profiler"
HEAD = ("witness", "kernels", "GPU time, ms")
BESIDE = "PyTorch's profiler beside the recording"
BESIDE_HEAD = ("profiled", "state", "kernels of an iteration in the profile", "plain", "ops timed by")
NEAR = 0.05  # of the time by the profiler: iterations are never quite the same


def timeline(run: Run, trace: str) -> list[dict]:
    out = f"{trace}.json"
    program = simulated.build_folder() / "replay" / "stowage-replay"
    jobs.program(run, "timeline", [str(program), "timeline", trace, "--out", out], {})
    with open(out) as file:
        return json.load(file)["traceEvents"]


def kernels_of_iterations(events: list[dict]) -> list[tuple[int, int]]:
    """Kernels launched by the ops of each steady iteration, and their ns."""
    ops = {event["args"]["External id"]: event["ts"] for event in events if event.get("cat") == "cpu_op"}
    kernels = [event for event in events if event.get("cat") == "kernel" and "External id" in event["args"]]
    found = []
    for iteration in events:
        if iteration.get("cat") != "iteration" or not iteration["name"].startswith("steady"):
            continue
        begin, end = iteration["ts"], iteration["ts"] + iteration["dur"]
        own = [event for event in kernels if begin <= ops[event["args"]["External id"]] < end]
        found.append((len(own), sum(event["args"]["duration ns"] for event in own)))
    return [row for row in found if row[0] > 0]


def ours(run: Run, what: str, **extra: str) -> Spec:
    return RECIPE.spec(run, door=jobs.ENTRY, extra={"STOWAGE_CUPTI": "1"} | extra, label=f"op times {what}")


def per_iteration(profiled: dict) -> tuple[float, float]:
    return profiled["kernels"] / PROFILED, profiled["ns"] / PROFILED


def fidelity(run: Run, result: Result, trace: str, profiled: dict) -> None:
    """The kernels in the trace beside those of a profile of the same process."""
    found = kernels_of_iterations(timeline(run, trace))
    if not result.check("the trace has kernels of steady iterations", bool(found)):
        return
    kernels, ns = (statistics.median(column) for column in zip(*found))
    expected, expected_ns = per_iteration(profiled)
    result.check("as many kernels as in the profile", kernels == expected,
                 f"{kernels} in the trace, {expected} in the profile")
    result.figure("GPU time of an iteration, Stowage's recording / PyTorch's profiler", ns / expected_ns, "ratio",
                  ("PyTorch's profiler", 1.0))
    if run.judged:
        result.check("and the same GPU time", abs(ns / expected_ns - 1) <= NEAR, f"{ns:.0f} ns beside {expected_ns:.0f} ns")
    for label, count, time in (("PyTorch's profiler", expected, expected_ns), ("Stowage", kernels, ns)):
        result.row(TITLE, HEAD, label, f"{count:g}", f"{time / 1e6:.3f}")


def recording_alone(run: Run, result: Result, plain: dict) -> None:
    trace = run.folder / "op_times.stowtrace"
    trace.unlink(missing_ok=True)
    answers = jobs.attempt(run, ours(run, "trace", STOWAGE_TRACE=str(trace)),
                           [["run", 16], ["report"], ["profile", PROFILED], ["run", 2]], result.fail)
    if not answers:
        return
    report = answers[1]
    result.check("CUPTI timed every op", set(report.get("op_times", {})) == {"cupti"}, str(report.get("op_times")))
    lost = {name: count for name, count in report.get("activity_losses", {}).items() if count}
    result.check("nothing was lost", not lost, str(lost))
    beside(result, "after the recording", report, answers[2], plain)
    fidelity(run, result, str(trace), answers[2])


def beside(result: Result, what: str, report: dict, profiled: dict, plain: dict) -> None:
    kernels, expected = per_iteration(profiled)[0], per_iteration(plain)[0]
    result.check(f"a profile {what} is whole", kernels == expected, f"{kernels} kernels, {expected} without Stowage")
    result.check(f"with a profile {what} the job is planned", report.get("state") == "planned", str(report)[:1500])
    timed = ", ".join(f"{name} {count}" for name, count in report.get("op_times", {}).items())
    result.row(BESIDE, BESIDE_HEAD, what, report.get("state", "no report"), f"{kernels:g}", f"{expected:g}", timed)


def op_times(run: Run) -> Result:
    result = Result()
    profile = ["profile", PROFILED]
    for what, first in (("that begins with the recording", 0), ("in the middle of the recording", 2)):
        # The first iterations have kernels of their own, such as those that make the optimizer's state.
        before = [["run", first]] if first else []
        spec = RECIPE.spec(run, door=PLAIN, label=f"op times plain {first}")
        plain = jobs.attempt(run, spec, [*before, profile], result.fail)
        answers = jobs.attempt(run, ours(run, what), [*before, profile, ["run", 24], ["report"]], result.fail)
        if plain and answers:
            beside(result, what, answers[-1], answers[len(before)], plain[-1])
    if plain:
        recording_alone(run, result, plain[-1])
    return result


def steps() -> dict[str, Step]:
    return {"op times": Step("op times", SECTION, op_times, 45, 25)}
