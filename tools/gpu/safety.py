"""Safety: jobs whose values change where memory is given away too early, and whether anything reads where it must not.

Each job of tests/zoo/hazards.py leaves the same bits with Stowage as without it. compute-sanitizer's memcheck then watches
short jobs, also one under a budget, where evicted tensors point into a range that nobody may read; that it finds a stray
read is shown with a planted one.
"""

import functools
import re
import sys

from tests.zoo import hazards
from tools.gpu import jobs, machine
from tools.gpu.drop_in import bits, entry, here
from tools.gpu.jobs import PLAIN, JobFailed
from tools.gpu.recipes import RECIPES, Recipe, how_many, swelled
from tools.gpu.results import Result
from tools.gpu.suite import Run, Step

SECTION = "Safety"
MIB = 1 << 20
ITERATIONS = 16
COMMANDS = [["run", ITERATIONS], ["report"], ["digests"]]
LONG_COMMANDS = [["run", 24], ["report"], ["digests"]]  # until a schedule is followed, and beyond
HEAD = ("job", "state", "misses in the last iteration", "bits")
TITLE = "Streams, graphs, pools, pinned batches, compiled models"
WHAT = {"two_streams": "two streams, poisoned memory, record_stream", "captured_step": "a training step as a CUDA graph",
        "graphed_model": "make_graphed_callables", "mem_pool": "tensors in a MemPool",
        "prefetched": "DataLoader with workers, pinned memory, prefetching on a stream"}
# Each step of a graph's replay allocates nothing, so there is no plan to follow behind the capture.
UNPLANNED = {"captured_step"}
MEMCHECK_HEAD = ("job", "errors by memcheck", "with")


def pair(run: Run, result: Result, what: str, make, planned: bool = True, commands=COMMANDS,
         at_once: int = 2) -> tuple[list | None, str]:
    """Both ways; `make(door, label)`: a spec. Returns Stowage's answers, None if it failed, and the cell on bits."""
    def done(door: str, label: str):
        return jobs.attempt(run, make(door, f"{what} {label}"), commands, result.fail)

    plain, ours = jobs.side_by_side(run, [functools.partial(done, PLAIN, "plain"),
                                          functools.partial(done, entry(run), "Stowage")], at_once)
    if ours is None or "digests" not in ours[-1]:
        if ours is not None:
            result.fail(f"{what} with Stowage", ours[-1].get("out_of_memory", ""))
        return None, ""
    if plain is not None and "digests" not in plain[-1]:
        result.fail(f"{what}, plain", plain[-1].get("out_of_memory", ""))
        plain = None
    report = ours[1]
    if planned:
        result.check(f"{what}: planned", report.get("state") == "planned",
                     f"{report.get('state', 'no report')}. {report.get('reason', '')}")
    for name, found in (("plain", plain), ("Stowage", ours)):
        if found and found[-1]["faults"] is not None:
            result.check(f"{what}, {name}: what the other stream reads is what was written", found[-1]["faults"] == 0,
                         f"other values in {found[-1]['faults']} iterations")
    return ours, bits(run, result, what, plain, ours, lambda: done(PLAIN, "plain again"))


def shown(result: Result, what: str, ours: list | None, cell: str) -> None:
    if ours is None:
        return result.row(TITLE, HEAD, what, "**failed**", "", "")
    result.row(TITLE, HEAD, what, ours[1].get("state", "no report"), ours[1].get("last_iteration_misses", ""), cell)


def hazard(run: Run, name: str) -> Result:
    result = Result()
    size = () if run.simulated else ("--size", "full")
    ours, cell = pair(run, result, WHAT[name],
                      lambda door, label: jobs.spec(name, *size, "--deterministic", "strict", door=door, label=label),
                      planned=name not in UNPLANNED)
    shown(result, WHAT[name], ours, cell)
    return result


def compiled(run: Run, mode: str) -> Result:
    """One after the other: the second finds the first's kernels in inductor's cache, so that both run the same."""
    result = Result()
    recipe = Recipe("gpt2_small", ("--precision", "bfloat16", "--compile", mode), 12)
    cache = {"TORCHINDUCTOR_CACHE_DIR": str(run.folder / "inductor"), "TRITON_CACHE_DIR": str(run.folder / "triton")}
    ours, cell = pair(run, result, f"torch.compile, {mode}",
                      lambda door, label: recipe.spec(run, *recipe.exact(), door=door, extra=cache, label=label),
                      planned=mode == "default", at_once=1)
    shown(result, f"torch.compile, {mode}", ours, cell)
    return result


BUDGET_HEAD = ("job", "% of its own peak", "limit, MiB", "most held, MiB", "state", "evictions", "ops run again",
               "copies to the host", "bits")


# In these shares of its own peak a model cannot do without offloading parameters or optimizer state.
OFFLOADED = {"gpt2_small": 30, "llama_1b": 40}


def under_budget(run: Run, models: tuple[str, ...], shares: dict[str, int] | None = None) -> Result:
    """A share of the job's own peak, its recipe's where none is given: the same bits, and never more held. In the given ones
    parameters and optimizer state have to be offloaded."""
    result = Result()
    cases = here(run, result, {model: RECIPES[model] for model in models})
    small, batch = swelled(run)

    def tried(model: str) -> None:
        recipe = cases[model]
        percent = shares[model] if shares else recipe.share
        what = f"{model} in {percent} % of its own peak"

        def make(door: str, label: str) -> jobs.Spec:
            budget = {} if door == PLAIN else {"STOWAGE_BUDGET": f"{percent}%"}
            return recipe.spec(run, *batch, *recipe.exact(), door=door, extra=small | budget, label=label)
        ours, cell = pair(run, result, what, make, planned=False, commands=LONG_COMMANDS, at_once=1)
        if ours is None:
            return result.row("Under a budget", BUDGET_HEAD, model, percent, "", "", "**failed**", "", "", "", "")
        told = ours[1].get("budget") or {}
        limit, most, evictions = (told.get(key, 0) for key in ("limit_bytes", "peak_held_bytes", "evictions"))
        result.check(f"{what}: tensors were evicted", evictions > 0, f"{evictions} evictions; {told}"[:1500])
        result.check(f"{what}: the limit holds", 0 < most <= limit, f"{most:,} bytes held, {limit:,} allowed")
        if shares:
            result.check(f"{what}: tensors were offloaded", told.get("fetches", 0) > 0, f"{told}"[:1500])
        scheduled = ", scheduled" if told.get("schedule", {}).get("followed") else ""
        result.row("Under a budget", BUDGET_HEAD, model, percent, f"{limit / MIB:,.0f}", f"{most / MIB:,.0f}",
                   ours[1].get("state", "") + scheduled, evictions, told.get("recomputed_ops", 0), told.get("offloads", 0),
                   cell)
    if cases:
        room = how_many(run, max(recipe.gib for recipe in cases.values()), jobs.AT_ONCE)
        jobs.side_by_side(run, [functools.partial(tried, model) for model in cases], room)
    return result


PLANTED = """
import ctypes, torch
torch.zeros(1, device="cuda")
address = ctypes.c_void_p()
runtime = ctypes.CDLL("libcudart.so." + torch.version.cuda.split(".")[0])
assert runtime.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(4096)) == 0
class Longer:
    __cuda_array_interface__ = {"shape": (1 << 28,), "typestr": "<f4", "version": 3, "data": (address.value, False)}
torch.as_tensor(Longer(), device="cuda").sum().item()
"""


def errors_in(output: str) -> int | None:
    found = re.findall(r"ERROR SUMMARY: (\d+) error", output)
    return sum(map(int, found)) if found else None


def under_memcheck(run: Run, name: str, words: list[str], settings: dict[str, str]) -> tuple[int | None, str]:
    """How many errors it saw, None if it does not say, and its output. The job may fail."""
    # PyTorch tries calls that a container may forbid (cuMemCreate with handles to share) and goes on without them. And
    # what it keeps for backtraces of the host seems to include Python's frames: tensors that a forward function names
    # stayed alive for the whole job.
    quiet = ["--report-api-errors", "no", "--show-backtrace", "device"]
    tool = [machine.compute_sanitizer(), "--tool", "memcheck", "--print-limit", "20", *quiet]
    try:
        output = jobs.program(run, name, [*tool, *words], settings)
    except JobFailed as error:
        output = str(error)
    return errors_in(output), output


def memcheck(run: Run, door: str, budget: str) -> Result:
    """A short GPT-2 in small size, as memcheck makes each launch many times slower."""
    result = Result()
    extra = {"STOWAGE_BUDGET": budget} if budget else {}
    what = {"plain": "plain", "entry_point": f"Stowage, budget {budget}" if budget else "Stowage, planned"}[door]
    # CUDA's pools of memory, if a library uses them, are tracked by their own calls; PyTorch's allocator asks for none.
    wanted = jobs.spec("gpt2_small", "--batch", "256", door=door, extra=extra, label=f"memcheck {what}")
    commands = ["--do", '[["run", 14], ["report"]]']
    errors, output = under_memcheck(run, wanted.name, [sys.executable, *wanted.words(), *commands],
                                    jobs.environment(run, wanted))
    answers = jobs.answers_in(output)
    if errors is None:
        result.fail(f"memcheck of {what}: it gave no summary", output)
    elif len(answers) < 3:
        result.fail(f"memcheck of {what}: the job did not end well", output)
    result.check(f"memcheck of {what}: no stray access", errors == 0, output[-3000:] if errors else "")
    if door != "plain" and len(answers) == 3:
        report = answers[2]
        done = report.get("budget", {}).get("evictions", 0) > 0 if budget else report.get("state") == "planned"
        result.check(f"memcheck of {what}: it was {'evicting' if budget else 'planned'}", done, str(report)[:1500])
    result.row("compute-sanitizer memcheck", MEMCHECK_HEAD, "gpt2_small, small", "–" if errors is None else errors, what)
    return result


def planted(run: Run) -> Result:
    """The control: a kernel that reads behind its allocation."""
    result = Result()
    errors, output = under_memcheck(run, "memcheck planted", [sys.executable, "-c", PLANTED],
                                    jobs.environment(run, jobs.spec("none")))
    result.check("memcheck finds a planted stray read", bool(errors), output[-3000:] if not errors else "")
    result.row("compute-sanitizer memcheck", MEMCHECK_HEAD, "a read behind an allocation",
               "–" if errors is None else errors, "the control")
    return result


BUDGETED = {"gpt2_small": ("gpt2_small",), "llama_1b": ("llama_1b",), "gpt2_medium": ("gpt2_medium",),
            "others": ("resnet50", "bert_base", "vit_b16")}


def lacks_sanitizer(_run: Run) -> str:
    return "" if machine.compute_sanitizer() else "compute-sanitizer is not on this machine"


def steps() -> dict[str, Step]:
    dry = {"two_streams": 10, "captured_step": 10, "mem_pool": 10, "prefetched": 12, "graphed_model": 10}
    found = [Step(f"hazard {name}", SECTION, functools.partial(hazard, name=name), 15, dry[name])
             for name in hazards.names()]
    found += [Step(f"compile {mode}", SECTION, functools.partial(compiled, mode=mode), 75) for mode in
              ("default", "reduce-overhead")]
    for name, models in BUDGETED.items():
        found.append(Step(f"budget bits {name}", SECTION, functools.partial(under_budget, models=models),
                          25 + 10 * len(models), 15 if name == "llama_1b" else None))
    offloading = functools.partial(under_budget, models=tuple(OFFLOADED), shares=OFFLOADED)
    found.append(Step("offload bits", SECTION, offloading, 60, 30))
    found.append(Step("memcheck control", SECTION, planted, 15, None, lacks_sanitizer))
    for name, door, budget in (("plain", PLAIN, ""), ("planned", jobs.ENTRY, ""), ("budget", jobs.ENTRY, "70%")):
        found.append(Step(f"memcheck {name}", SECTION, functools.partial(memcheck, door=door, budget=budget), 50, None,
                          lacks_sanitizer))
    return {step.name: step for step in found}
