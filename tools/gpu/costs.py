"""What Stowage costs a job: recording, with CUPTI and without; one allocation; the start of a first and of a second run.

Recording is weighed on a job that never settles (tests/zoo/variants.py), so that it goes on: the plain job and those that
record are alive together and take turns. Whether this Stowage has a setting for CUPTI is asked of it, not assumed.
"""

import json
import shutil
import statistics
import sys
import time

from tests.zoo import harness, simulated
from tests.zoo.variants import ALIKE, UNLIKE
from tools.gpu import jobs, turns
from tools.gpu.jobs import PLAIN, JobFailed
from tools.gpu.recipes import AMP, Recipe
from tools.gpu.results import Result
from tools.gpu.suite import Run, Step

SECTION = "Costs"
RECIPE = Recipe("gpt2_small", AMP, 12)
CUPTI = "STOWAGE_CUPTI"
RECORDING_HEAD = ("job", "ms per iteration while ops are recorded", "time / plain", "time / without CUPTI")
START_HEAD = ("run", "switched after iteration", "seconds until iteration 1 ended", "seconds of all 16 iterations",
              "seconds of the process")
HOT_HEAD = ("allocator", "ns for one allocation and its free", "ratio to native")
STARTING = 16  # iterations
CYCLES = 7  # of an unsettled job: after 50 iterations a session gives up


def settings(run: Run) -> list[dict]:
    """Those that this Stowage knows."""
    made = jobs.environment(run, jobs.spec("none"))
    program = "import json, stowage; print('@@' + json.dumps([dict(row) for row in stowage.settings()]))"
    shown = jobs.program(run, "settings", [sys.executable, "-c", program], made)
    return json.loads(next(line for line in shown.splitlines() if line.startswith("@@"))[2:])


def knows_cupti(run: Run) -> bool:
    return any(row.get("variable") == CUPTI for row in settings(run))


def recording_specs(run: Run, cupti: bool) -> dict[str, jobs.Spec]:
    ways = {"plain": None, "Stowage": {}}
    if cupti:
        ways = {"plain": None, "Stowage, without CUPTI": {CUPTI: "0"}, "Stowage, with CUPTI": {CUPTI: "1"}}
    return {label: RECIPE.spec(run, "--unsettled", door=PLAIN if extra is None else jobs.ENTRY, waits=False,
                               extra=extra or {}, label=f"recording {label}") for label, extra in ways.items()}


def take_turns(group: turns.Group, rounds: int) -> dict[str, list[float]]:
    """Seconds of an iteration in which ops are recorded. The first cycle is to warm up."""
    times: dict[str, list[float]] = {label: [] for label in group.talks}
    group.each("run", ALIKE + UNLIKE)
    for number in range(rounds):
        group.each("run", ALIKE)
        labels = list(times)[number % len(times):] + list(times)[:number % len(times)]
        for label in labels:
            if answer := group.ask(label, "run", UNLIKE):
                times[label].append(answer["seconds"] / UNLIKE)
    return {label: found for label, found in times.items() if len(found) == rounds}


def recording(run: Run) -> Result:
    result = Result()
    cupti = knows_cupti(run)
    if not cupti:
        result.left_out.append(f"recording with CUPTI: this Stowage has no setting {CUPTI}; recording as it is was weighed")
    with turns.Group(run, result, recording_specs(run, cupti)) as group:
        times = take_turns(group, 2 if run.simulated else CYCLES)
        reports = {label: group.ask(label, "report") for label in list(group.talks) if label != "plain"}
    for label, report in reports.items():
        result.check(f"{label}: it recorded all along", (report or {}).get("state") == "recording", str(report)[:800])
    for label in times:
        beside = turns.ratio(times, label, "Stowage, without CUPTI") if label.endswith("with CUPTI") else None
        against = turns.ratio(times, label, "plain") if label != "plain" else None
        for baseline, found in (("plain", against), ("Stowage, without CUPTI", beside)):
            if found:
                result.figure(f"time of an iteration while recording, {label} / {baseline}", found["median"], "ratio",
                              (baseline, 1.0), spread=(found["low"], found["high"]))
        result.row("Recording", RECORDING_HEAD, label, turns.number(turns.median_ms(times, label), ".2f"),
                   turns.text(against) if label != "plain" else "1", turns.text(beside))
    return result


def hot_path(run: Run) -> Result:
    """Through PyTorch, on this driver."""
    result = Result()
    path = run.folder / "hot_path.json"
    path.unlink(missing_ok=True)
    words = [sys.executable, "benchmarks/plugin/hot_path.py", "--device", run.device, "--model", "gpt2_small", "--json",
             str(path), *(["--quick"] if run.simulated else [])]
    made = harness.clean_environment() | {"STOWAGE_BUILD": str(simulated.build_folder())}
    try:
        jobs.program(run, "hot path", words, made)
    except JobFailed as error:
        result.fail("hot path through PyTorch", str(error))
        return result
    found = json.loads(path.read_text())
    native, planned = (statistics.median(found[kind]) for kind in ("native", "planned"))
    ratio = found["ratio"]
    result.figure("one planned allocation and its free", planned, "ns", ("PyTorch's native, cache warm", native))
    result.figure("planned / native", ratio["median"], "ratio", ("native", 1.0), spread=(ratio["low"], ratio["high"]),
                  goal={"at_most": found["bar"]} if run.judged else None)
    result.row("Hot path through PyTorch (benchmarks/plugin/hot_path.py)", HOT_HEAD, "PyTorch's native, cache warm",
               f"{native:.1f}", "1")
    result.row("Hot path through PyTorch (benchmarks/plugin/hot_path.py)", HOT_HEAD, "Stowage, planned", f"{planned:.1f}",
               f"{ratio['median']:.4f} ({ratio['low']:.4f}–{ratio['high']:.4f})")
    return result


def start(run: Run, label: str, door: str, extra: dict[str, str]) -> tuple[dict, dict, float]:
    """What was watched, the report, and the seconds of the process."""
    wanted = RECIPE.spec(run, door=door, extra=extra, waits=False, label=f"start {label}")
    begun = time.monotonic()
    seen, report = jobs.once(run, wanted, [["watch", STARTING], ["report"]])
    return seen, report, time.monotonic() - begun


def start_up(run: Run) -> Result:
    """Without Stowage, with an empty folder for plans, and with what that run left there."""
    result = Result()
    folder = run.folder / "plans"
    shutil.rmtree(folder, ignore_errors=True)
    kept = {"STOWAGE_PLAN_CACHE": str(folder)}
    found = {}
    for label, door, extra in (("plain", PLAIN, {}), ("first", jobs.ENTRY, kept), ("second", jobs.ENTRY, kept)):
        try:
            found[label] = start(run, label, door, extra)
        except JobFailed as error:
            result.fail(f"start-up, {label}", str(error))
            continue
        seen, report, seconds = found[label]
        result.row("Start-up", START_HEAD, {"plain": "without Stowage"}.get(label, f"{label} run"),
                   report.get("switched_at_iteration", "–"), f"{seen['ns'][0] / 1e9:.2f}", f"{sum(seen['ns']) / 1e9:.2f}",
                   f"{seconds:.1f}")
    if len(found) < 3:
        return result
    plain = sum(found["plain"][0]["ns"]) / 1e9
    for label in ("first", "second"):
        result.figure(f"seconds of the first {STARTING} iterations, {label} run", sum(found[label][0]["ns"]) / 1e9, "s",
                      ("plain", plain))
    first, second = (found[label][1].get("switched_at_iteration", 0) for label in ("first", "second"))
    result.figure("iterations until the plan, second run", second, "iterations", ("first run", first))
    report = found["second"][1]
    planned = report.get("state") == "planned" and report.get("planned_from_start", False)
    result.check("the second run is planned from its first allocation", planned and second == 0 < first,
                 f"at iteration {second}, first run {first}; {report.get('state')} {report.get('reason', '')}")
    return result


def steps() -> dict[str, Step]:
    found = [Step("hot path", SECTION, hot_path, 30, 20), Step("start-up", SECTION, start_up, 35, 15),
             Step("recording", SECTION, recording, 35, 20)]
    return {step.name: step for step in found}
