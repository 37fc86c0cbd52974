"""Reserved bytes and iteration time: PyTorch's allocator in three settings and Stowage, alive together and timed in turn.

Also what a steady iteration calls of CUDA, and how long the switch to the plan holds the job up. Peak live is the most that
tensors held at one time in planned iterations, as PyTorch counts; reserved is the most that the allocator held of the device
in them. What the device itself gives back when the process ends is a witness for both.
"""

import functools
import statistics

from tools.gpu import jobs, machine, turns
from tools.gpu.jobs import ASYNC, EXPANDABLE, PLAIN
from tools.gpu.recipes import RECIPES, Recipe, no_room
from tools.gpu.results import Result
from tools.gpu.suite import Run, Step

SECTION = "Memory and time"
NATIVE, GROWING, DRIVER, OURS = "native", "expandable segments", "cudaMallocAsync", "Stowage"
WAYS = {NATIVE: (PLAIN, {}), GROWING: (PLAIN, EXPANDABLE), DRIVER: (PLAIN, ASYNC), OURS: (jobs.ENTRY, {})}
WARM = 12  # iterations
MOST_UNTIL_PLANNED = 48
STEADY = 3  # iterations whose calls are counted
MOST_RESERVED, MOST_SWITCH_MS = 1.02, 100.0
MIB = 1 << 20
TITLE = "Memory and time, in turn"
HEAD = ("model", "allocator", "peak live, MiB", "reserved, MiB", "reserved / peak live", "given back by the process, MiB",
        "ms per iteration", "time / native")
FIRST = 8  # iterations that are shown one by one: those that are recorded, and the switch
SWITCH_HEAD = ("model", "allocator", "longest hold-up, ms", "at iteration", f"ms of iterations 1 to {FIRST}",
               "plan in use from")
CALLS_HEAD = ("model", "allocator", "witness", f"calls in {STEADY} steady iterations", "control")


def until_planned(run: Run, group: turns.Group) -> dict:
    """Stowage's iterations from the first on, until it has followed its plan for some time."""
    seen: dict[str, list] = {"ns": [], "state": [], "memory_calls": []}
    while len(seen["ns"]) < MOST_UNTIL_PLANNED:
        part = group.ask(OURS, "watch", 6)
        if part is None:
            break
        for key in seen:
            seen[key] += part[key]
        if seen["state"][-6:] == ["planned"] * 6 and len(seen["ns"]) >= WARM:
            break
    return seen


def hold_up(ns: list[int], first: int) -> tuple[float, int]:
    """How much longer than the median of the last ones the longest iteration from `first` on took, in ms, and its number
    from 1."""
    usual = statistics.median(ns[-4:])
    number = max(range(first, len(ns)), key=lambda i: ns[i])
    return max(ns[number] - usual, 0) / 1e6, number + 1


def switch(run: Run, result: Result, model: str, ours: dict, native: dict) -> None:
    """The iteration that switches to the plan, and the two behind it, beside the plain job's in the same places."""
    if "planned" not in ours["state"]:
        return
    at = ours["state"].index("planned")
    held, number = hold_up(ours["ns"][:at + 3] + ours["ns"][-4:], at)
    plain, plain_number = hold_up(native["ns"], min(at, len(native["ns"]) - 1))
    goal = {"at_most": MOST_SWITCH_MS} if run.judged else None
    result.figure(f"{model}: hold-up of the job by the switch to its plan", held, "ms",
                  ("longest hold-up of the native job from the same iteration on", plain), goal=goal)
    rows = ((OURS, held, number, ours["ns"], at + 1), (NATIVE, plain, plain_number, native["ns"], "–"))
    for label, longest, where, ns, since in rows:
        first = ", ".join(f"{one / 1e6:.0f}" for one in ns[:FIRST])
        result.row("The switch to the plan", SWITCH_HEAD, model, label, f"{longest:.1f}", where, first, since)


def calls(run: Run, result: Result, model: str, group: turns.Group) -> None:
    """Calls for memory in steady iterations, by each witness that saw its control."""
    counted: dict[str, dict[str, int]] = {}
    for label in (NATIVE, OURS):
        for witness, found in (group.ask(label, "calls", STEADY) or {}).items():
            if "refused" in found or not found["control"]:
                told = found.get("refused") or "it did not see the control"
                result.row("Calls for device memory", CALLS_HEAD, model, label, witness, "not shown", told)
                continue
            counted.setdefault(witness, {})[label] = sum(found["calls"].values())
            control = ", ".join(f"{count} {name}" for name, count in sorted(found["control"].items()))
            told = ", ".join(f"{count} {name}" for name, count in sorted(found["calls"].items())) or "0"
            result.row("Calls for device memory", CALLS_HEAD, model, label, witness, told, control)
    for witness, found in counted.items():
        if OURS in found:
            result.figure(f"{model}: calls for device memory in {STEADY} steady iterations, by {witness}", found[OURS],
                          "calls", ("native", found.get(NATIVE)), goal={"at_most": 0})
    if not counted:
        result.left_out.append(f"{model}: no witness of CUDA's calls saw its control")


def given_back(run: Run, group: turns.Group) -> dict[str, int | None]:
    """What the device's used memory falls by when each process ends, by the driver's count."""
    found: dict[str, int | None] = {}
    before = None if run.simulated else machine.used_bytes()
    for label in list(group.talks):
        group.finish(label)
        after = None if before is None else machine.used_bytes()
        found[label] = None if after is None else before - after
        before = after
    return found


def memory_figures(result: Result, model: str, memory: dict[str, dict], judged: bool) -> None:
    peaks = {label: found.get("allocated_bytes.all.peak") for label, found in memory.items()}
    reserved = {label: found.get("reserved_bytes.all.peak") for label, found in memory.items()}
    if not peaks.get(OURS):
        return
    native = reserved[NATIVE] / peaks[NATIVE] if peaks.get(NATIVE) else None
    result.figure(f"{model}: reserved / peak live", reserved[OURS] / peaks[OURS], "ratio", ("native", native),
                  goal={"at_most": MOST_RESERVED} if judged else None)
    if GROWING in reserved:
        result.figure(f"{model}: reserved, beside expandable segments", reserved[OURS], "bytes",
                      ("expandable segments", reserved[GROWING]), goal={"at_most": reserved[GROWING]} if judged else None)
    if NATIVE in reserved:
        result.figure(f"{model}: reserved, beside native", reserved[OURS], "bytes", ("native", reserved[NATIVE]))


def time_figures(run: Run, result: Result, model: str, times: dict[str, list[float]]) -> None:
    for label in (OURS, GROWING, DRIVER):
        found = turns.ratio(times, label, NATIVE)
        if found:
            result.figure(f"{model}: time of an iteration, {label} / native", found["median"], "ratio", ("native", 1.0),
                          spread=(found["low"], found["high"]),
                          goal={"at_most": 1.0} if label == OURS and run.judged else None)


def memory_and_time(run: Run, model: str) -> Result:
    result, recipe = Result(), RECIPES[model]
    result.table(TITLE, HEAD)
    before = machine.state_now()
    specs = {label: recipe.spec(run, door=door, extra=extra, waits=run.simulated, label=f"memory {model} {label}")
             for label, (door, extra) in WAYS.items()}
    with turns.Group(run, result, specs) as group:
        native = group.ask(NATIVE, "watch", WARM)
        for label in (GROWING, DRIVER):
            group.ask(label, "watch", WARM)
        ours = until_planned(run, group)
        planned = ours["state"][-1:] == ["planned"]
        if ours["state"]:
            result.check(f"{model}: planned", planned, f"state {ours['state'][-1]} after {len(ours['ns'])} iterations")
        group.each("forget_peaks")
        usual = statistics.median(native["ns"][-4:]) / 1e9 if native else 0.1
        times = group.take_turns(rounds=2 if run.simulated else 8, turn_s=0.05 if run.simulated else 0.5, iteration_s=usual)
        memory = group.each("memory")
        reports = group.ask(OURS, "report") or {}
        misses = reports.get("last_iteration_misses")
        result.check(f"{model}: no miss in the last iteration", misses == 0, f"{misses} misses; {reports.get('misses')}")
        calls(run, result, model, group)
        held = given_back(run, group)
    if native and planned:
        switch(run, result, model, ours, native)
    memory_figures(result, model, memory, run.judged)
    time_figures(run, result, model, times)
    rows(result, model, memory, held, times)
    if run.simulated and ours["memory_calls"]:
        result.check(f"{model}: no call for memory in the last iterations, by the simulated device",
                     sum(ours["memory_calls"][-3:]) == 0, str(ours["memory_calls"]))
    if not run.simulated:
        result.notes.append(f"{model}: the device before: {told(before)}; behind: {told(machine.state_now())}")
    return result


def rows(result: Result, model: str, memory: dict, held: dict, times: dict) -> None:
    for label, found in memory.items():
        peak, reserved = found.get("allocated_bytes.all.peak", 0), found.get("reserved_bytes.all.peak", 0)
        result.row(TITLE, HEAD, model, label, f"{peak / MIB:,.0f}", f"{reserved / MIB:,.0f}",
                   f"{reserved / peak:.4f}" if peak else "–",
                   turns.number(held.get(label) and held[label] / MIB), turns.number(turns.median_ms(times, label), ".2f"),
                   "1" if label == NATIVE else turns.text(turns.ratio(times, label, NATIVE)))


def told(state: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in state.items()) or "not told by nvidia-smi"


def lacks(run: Run, recipe: Recipe) -> str:
    return recipe.lacks(run) or no_room(run, len(WAYS) * recipe.gib)


def steps() -> dict[str, Step]:
    found = [Step(f"memory and time {model}", SECTION, functools.partial(memory_and_time, model=model), 50,
                  30 if model == "gpt2_small" else None, functools.partial(lacks, recipe=recipe))
             for model, recipe in RECIPES.items()]
    return {step.name: step for step in found}
