"""A job that the device cannot hold, with STOWAGE=1 and nothing else: it goes on, and leaves the same bits as on all of it.

The device is made smaller by PyTorch's own limit (set_per_process_memory_fraction), which counts what is reserved.
"""

import functools

from tools.gpu import jobs
from tools.gpu.drop_in import bits, entry
from tools.gpu.jobs import PLAIN
from tools.gpu.recipes import RECIPES, swelled
from tools.gpu.results import Result
from tools.gpu.suite import Run, Step

SECTION = "Safety"
TITLE = "With nothing set, on a part of the device"
HEAD = ("model", "part, % of its own peak", "part, MiB", "most held, MiB", "joined in iteration", "state", "evictions",
        "bits")
MIB = 1 << 20
PERCENT = 66
COMMANDS = [["run", 24], ["memory"], ["report"], ["digests"]]


def goes_on(run: Run, model: str) -> Result:
    result, recipe = Result(), RECIPES[model]
    small, batch = swelled(run)

    def done(door: str, label: str, *words) -> list[dict] | None:
        wanted = recipe.spec(run, *batch, *recipe.exact(), *words, door=door, extra=small, waits=run.simulated,
                             label=f"nothing set {model} {label}")
        commands = [one for one in COMMANDS if door != PLAIN or one != ["report"]]
        return jobs.attempt(run, wanted, commands, result.fail)

    plain = done(PLAIN, "plain")
    if plain is None or "digests" not in plain[-1]:
        result.fail(f"{model}, plain, on the whole device", (plain or [{}])[-1].get("out_of_memory", ""))
        return result
    limit = plain[1]["reserved_bytes.all.peak"] * PERCENT // 100
    alone = done(PLAIN, "plain on a part", "--limit", limit)
    result.check(f"{model}: a part of the device is too little without Stowage",
                 alone is not None and "out_of_memory" in alone[-1], "it ran")
    ours = done(entry(run), "Stowage on a part", "--limit", limit)
    what = f"{model} on {PERCENT} % of what it takes, with nothing set"
    if ours is None or "digests" not in ours[-1]:
        if ours is not None:
            result.fail(what, ours[-1].get("out_of_memory", ""))
        result.row(TITLE, HEAD, model, PERCENT, f"{limit / MIB:,.0f}", "", "", "**failed**", "", "")
        return result
    report = ours[2]
    told = report.get("budget") or {}
    most, joins, evictions = (told.get(key, 0) for key in ("peak_held_bytes", "joins", "evictions"))
    result.check(f"{what}: the runtime joined", joins == 1 and evictions > 0, f"{told}"[:1500])
    result.check(f"{what}: the limit holds", 0 < most <= limit, f"{most:,} bytes held, {limit:,} allowed")
    scheduled = ", scheduled" if told.get("schedule", {}).get("followed") else ""
    result.row(TITLE, HEAD, model, PERCENT, f"{limit / MIB:,.0f}", f"{most / MIB:,.0f}",
               told.get("joined_at_iteration", 0) + 1, report.get("state", "") + scheduled, evictions,
               bits(run, result, what, plain, ours, lambda: done(PLAIN, "plain again")))
    return result


def steps() -> dict[str, Step]:
    found = [Step(f"nothing set {model}", SECTION, functools.partial(goes_on, model=model), 35, 25 if first else None)
             for model, first in (("gpt2_small", True), ("resnet50", False))]
    return {step.name: step for step in found}
