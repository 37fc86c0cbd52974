"""Budgets: what a job costs more in 75, 66, 50, 40 and 33 % of its own peak, predicted and measured, beside MONeT's figures.

Peak: the most bytes that the plain job's tensors hold. The budget is a hard limit in bytes from the first allocation on, and
counts all that is reserved. The plain job and those under budgets take turns on the device. MONeT's figures are those of its
paper's repository (GPU of its time, PyTorch 1.5), at the same models and batches: of time against its own plain run.
"""

import functools

from tools.gpu import jobs, turns
from tools.gpu.jobs import PLAIN
from tools.gpu.recipes import BUDGETS, Recipe, no_room, swelled
from tools.gpu.results import Result
from tools.gpu.suite import Run, Step
from tools.table import COMPUTED, share_of_ops

SECTION = "Budgets"
TITLE = "Overhead under a budget"
HEAD = ("model", "budget, % of peak", "budget, MiB", "most reserved, MiB", "state", "ops run again an iteration",
        "overhead predicted, %", "overhead measured, %", "MONeT's, % (at % of its peak)")
MIB = 1 << 20
WARM, MOST_WARM = 18, 48  # iterations
# In GB and % of compute time, by MONeT's README; the first is PyTorch's own peak there.
MONET = {
    "resnet50_b184": (15.06, ((10.01, 3.22), (9.01, 4.68), (8.01, 5.56), (6.99, 7.28), (6.00, 9.31), (4.99, 11.95))),
    "googlenet": (14.93, ((9.98, 7.13), (8.99, 7.87), (8.01, 8.44), (7.02, 9.71), (6.01, 12.14), (4.99, 15.77))),
    "unet": (14.32, ((10.01, -4.10), (9.01, -2.07), (8.02, -0.09), (7.00, 1.39), (6.01, 4.95), (5.01, 11.51))),
    "mobilenet_v2": (14.46, ((10.02, 2.40), (9.01, 3.10), (8.02, 4.77), (7.01, 5.53), (6.01, 7.55), (5.01, 8.72))),
    "vgg16": (14.12, ((9.71, -5.30), (8.66, -4.64), (7.88, -2.18), (6.82, 1.99), (5.90, 5.44), (5.51, 9.11))),
}


def published(model: str, percent: int) -> str:
    """MONeT's nearest budget to that share, if it has one within 4 % of the peak."""
    if model not in MONET:
        return "–"
    peak, points = MONET[model]
    share, overhead = min(((100 * size / peak, overhead) for size, overhead in points), key=lambda p: abs(p[0] - percent))
    return f"{overhead:.1f} (at {share:.0f})" if abs(share - percent) <= 4 else "–"


def out_of_memory(told: str) -> bool:
    return "out of memory" in told


def settle(group: turns.Group, label: str, least: int = WARM, most: int = MOST_WARM) -> dict:
    """Iterations until each runs as many ops again as the one before, six in a row, and it is known whether a schedule is
    followed."""
    seen: dict[str, list] = {"ns": [], "state": [], "recomputed": [], "schedule": []}
    while len(seen["ns"]) < most:
        part = group.ask(label, "watch", 6)
        if part is None:
            break
        for key in seen:
            seen[key] += part[key]
        again = [b - a for a, b in zip(seen["recomputed"][-7:], seen["recomputed"][-6:])]
        if len(seen["ns"]) >= least and len(set(again)) <= 1 and (seen["schedule"][-1] or not any(again)):
            break
    return seen


def again_each(seen: dict) -> float | None:
    """Ops run again in one of the last iterations."""
    counts = seen["recomputed"][-4:]
    return (counts[-1] - counts[0]) / 3 if len(counts) == 4 else None


def predicted(report: dict) -> float | None:
    """Overhead by the schedule's own costs, in percent; None without a schedule."""
    schedule = report.get("budget", {}).get("schedule", {})
    if not schedule.get("since_iteration") or not schedule.get("ops_ms"):
        return None
    return share_of_ops(schedule, *COMPUTED)


def row(run: Run, result: Result, model: str, percent: int, limit: int, seen: dict, found: dict) -> None:
    """`found`: memory, report, the ratio of time, and ms of an iteration, ours and plain, of one job under a budget."""
    report, memory, ratio = found["report"], found["memory"], found["ratio"]
    budget = report.get("budget", {})
    most = max(memory.get("reserved_bytes.all.peak", 0), budget.get("peak_held_bytes", 0))
    result.check(f"{model} in {percent} %: the limit holds", 0 < most <= limit, f"{most:,} bytes held, {limit:,} allowed")
    forecast, overhead = predicted(report), ratio and 100 * (ratio["median"] - 1)
    if ratio:
        result.figure(f"{model}: overhead in {percent} % of the peak", overhead, "%", ("the plain job", 0.0),
                      spread=(100 * (ratio["low"] - 1), 100 * (ratio["high"] - 1)))
        if forecast is not None:
            result.figure(f"{model}: predicted overhead in {percent} % of the peak", forecast, "%", ("measured", overhead))
    ours, plain = found["ms"]
    if ours and plain:
        result.figure(f"{model}: iteration in {percent} % of the peak", ours, "ms", ("the plain job", plain))
    schedule = budget.get("schedule", {})
    if plain and schedule.get("ops_ms"):  # without those run again; above plain where libraries chose slower kernels
        result.figure(f"{model}: ops in {percent} %, as recorded", schedule["ops_ms"], "ms", ("the plain iteration", plain))
    if schedule.get("peak_bytes"):
        result.figure(f"{model}: predicted peak in {percent} %", schedule["peak_bytes"], "bytes", ("most held", most))
    state = report.get("state", "no report") + (", scheduled" if schedule.get("followed") else "")
    if schedule.get("reason"):
        result.notes.append(f"{model} in {percent} %: no schedule: {schedule['reason']}")
    spread = f" ({100 * (ratio['low'] - 1):.1f} to {100 * (ratio['high'] - 1):.1f})" if ratio else ""
    result.row(TITLE, HEAD, model, percent, f"{limit / MIB:,.0f}", f"{most / MIB:,.0f}", state,
               turns.number(again_each(seen)), turns.number(forecast, ".1f"),
               turns.number(overhead, ".1f") + spread, published(model, percent))


def measure(run: Run, result: Result, model: str, percents: tuple[int, ...], group: turns.Group, specs) -> None:
    """`specs`: makes the spec of a share of the peak, in bytes."""
    native = group.ask("plain", "watch", 6)
    memory = group.ask("plain", "memory")
    if native is None or memory is None:
        return
    peak = memory["allocated_bytes.all.peak"]
    limits = {f"{percent} %": percent * peak // 100 for percent in percents}
    group.add({label: specs(label, limit) for label, limit in limits.items()})
    seen = {label: settle(group, label) for label in limits}
    usual = sorted(native["ns"])[len(native["ns"]) // 2] / 1e9
    times = group.take_turns(rounds=2 if run.simulated else 6, turn_s=0.05 if run.simulated else 0.5, iteration_s=usual)
    for percent, (label, limit) in zip(percents, limits.items()):
        if label in group.ended:
            told = group.ended[label].rpartition("stowage: ")[2]  # what it adds to PyTorch's message
            result.row(TITLE, HEAD, model, percent, f"{limit / MIB:,.0f}", "–", "out of memory, told", "–", "–", "–",
                       published(model, percent))
            result.notes.append(f"{model} in {percent} %: {told[:900]}")
            continue
        found = {"memory": group.ask(label, "memory"), "report": group.ask(label, "report"),
                 "ratio": turns.ratio(times, label, "plain"),
                 "ms": (turns.median_ms(times, label), turns.median_ms(times, "plain"))}
        if found["memory"] is None or found["report"] is None:
            result.row(TITLE, HEAD, model, percent, f"{limit / MIB:,.0f}", "–", "**failed**", "–", "–", "–", "–")
            continue
        row(run, result, model, percent, limit, seen[label], found)


def budgets(run: Run, model: str, percents: tuple[int, ...]) -> Result:
    result, recipe = Result(), BUDGETS[model]
    small, batch = swelled(run)

    def under(label: str, limit: int) -> jobs.Spec:
        return recipe.spec(run, *batch, door=jobs.ENTRY, extra=small | {"STOWAGE_BUDGET": str(limit)}, waits=run.simulated,
                           label=f"budget {model} {label}")
    plain = recipe.spec(run, *batch, door=PLAIN, extra=small, label=f"budget {model} plain")
    with turns.Group(run, result, {"plain": plain}, out_of_memory) as group:
        measure(run, result, model, percents, group, under)
        if "plain" in group.ended:
            result.fail(f"{model}: the plain job does not run here", group.ended["plain"])
    return result


def lacks(run: Run, recipe: Recipe, shares: float) -> str:
    return recipe.lacks(run) or no_room(run, recipe.gib * (1 + shares))


PARTS = ((66, 50), (75, 40, 33))


def steps() -> dict[str, Step]:
    found = []
    for model, recipe in BUDGETS.items():
        for percents in PARTS:
            name = f"budgets {model} " + ", ".join(map(str, percents))
            simulated_s = 30 if model == "unet" and percents == PARTS[0] else None
            found.append(Step(name, SECTION, functools.partial(budgets, model=model, percents=percents), 50, simulated_s,
                              functools.partial(lacks, recipe=recipe, shares=sum(percents) / 100)))
    return {step.name: step for step in found}
