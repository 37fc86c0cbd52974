"""How placement answers to what happens around it: a stop, and a problem that has changed a little."""

import json
import subprocess

from benchmarks.planner.sections.page import Section, Verdict, prose
from benchmarks.planner.sections.runs import BUILD, Settings
from benchmarks.planner.sections.heights import machine

KINDS = {"0": "random lives", "1": "random lives, half of them fixed", "2": "random lives, with gaps", "3": "GPT"}
TITLES = {"stop": "After a stop", "replan": "After a small change"}


def benchmarks(wanted: str) -> list[dict]:
    """Those of planner_placement whose name has the pattern, with their arguments by name."""
    command = [BUILD / "benchmarks" / "planner_placement", f"--benchmark_filter={wanted}", "--benchmark_format=json"]
    done = subprocess.run(command, text=True, capture_output=True, check=True)
    found = json.loads(done.stdout)["benchmarks"]
    for run in found:
        run |= dict(part.split(":") for part in run["name"].split("/") if ":" in part)
    return found


def stop(settings: Settings) -> Section:
    begun = machine()
    runs = benchmarks("stop_a_placement/buffers:3000/kind:3/" if settings.quick else "stop_a_placement")
    lines = ["| problem | buffers | most, ms | most CPU, ms |", "|---|---|---|---|"]
    lines += [f"| {KINDS[run['kind']]} | {int(run['buffers']):,} | {run['most_ms']:.1f} | {run['most_cpu_ms']:.1f} |"
              for run in sorted(runs, key=lambda run: (run["kind"], run["buffers"]))]
    most = max(runs, key=lambda run: run["most_ms"])
    told = f"at most {most['most_ms']:.1f} ms ({int(most['buffers']):,} buffers, {KINDS[most['kind']]})"
    reached = most["most_ms"] <= 20
    note = prose(f"{begun}. How long `place()` goes on after a stop, on one thread: the longest of 24 stops spread over a",
                 "solve, each asked for right behind a look at it, the worst time; until `place()` has returned.")
    return Section(TITLES["stop"], [Verdict("cancellation", "within 20 ms", "within 20 ms", told, reached, reached)],
                   [*note, *lines])


def replan(settings: Settings) -> Section:
    begun = machine()
    runs = benchmarks("replan_after_a_small_change" + ("/buffers:12000" if settings.quick else ""))
    lines = ["| buffers | changed | time ÷ anew | work ÷ anew | height ÷ bound | moved |", "|---|---|---|---|---|---|"]
    lines += [f"| {int(run['buffers']):,} | 1 in {run['every']} | {run['replan/anew']:.2f} | {run['work/anew']:.3f} | "
              f"{run['height/bound']:.5f} | {int(run['moved']):,} |" for run in runs]
    most = max(run["replan/anew"] for run in runs)
    told = f"{min(run['replan/anew'] for run in runs):.2f} to {most:.2f} of the time of placing anew"
    note = prose(f"{begun}. A made GPT in micro-batches of varied lengths, of which some buffers have another size, larger",
                 "and smaller in turn. `replan()` against `place()`, both validated, CPU time on one thread, in one run.")
    return Section(TITLES["replan"], [Verdict("replanning after a small change", "a fraction of placing anew",
                                              "a fraction of placing anew", told, *[most < 1] * 2)], [*note, *lines])
