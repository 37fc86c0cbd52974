"""The largest batch that trains in 16 GiB of the device: PyTorch with expandable segments, and Stowage under that budget.

PyTorch's own limit (set_per_process_memory_fraction) and Stowage's budget both count what is reserved. "Trains": so many
iterations without an out-of-memory error. The search doubles, then halves the interval, to a tenth of the batch. It keeps
what it has found, so that a time limit costs one try.
"""

import functools

from tools.gpu import jobs
from tools.gpu.drop_in import entry
from tools.gpu.jobs import EXPANDABLE, PLAIN, JobFailed
from tools.gpu.recipes import BUDGETS, RECIPES, Recipe, swelled
from tools.gpu.results import Result
from tools.gpu.suite import OutOfTime, Run, Step

SECTION = "Budgets"
TITLE = "The largest batch in {limit}"
HEAD = ("model", "with", "largest that trained", "least that did not", "tries")
LIMIT, SIMULATED_LIMIT = 16 << 30, 96 << 20
GOAL = 3.0
ITERATIONS = {"PyTorch": 6, "Stowage": 14}  # Stowage's: until a schedule is followed
NEAR = 1.1
MOST_TRIES = 9
RECIPE_OF = BUDGETS | RECIPES


class Search:
    """Between the largest number that `trains` and the least that does not; both may be unknown. Plain data in `found`."""

    def __init__(self, found: dict, start: int, most_tries: int = MOST_TRIES):
        self.found = found or {"trained": 0, "failed": 0, "tries": 0, "next": start}
        self.most_tries = most_tries

    def over(self) -> bool:
        trained, failed, tries = (self.found[key] for key in ("trained", "failed", "tries"))
        return failed == 1 or tries >= self.most_tries or bool(failed) and failed <= max(trained + 1, NEAR * trained)

    def put(self, trained: bool) -> None:
        number = self.found["next"]
        self.found["trained" if trained else "failed"] = number
        self.found["tries"] += 1
        low, high = self.found["trained"], self.found["failed"]
        self.found["next"] = 2 * low if not high else max((low + high) // 2, 1)


def trains(run: Run, recipe: Recipe, side: str, batch: int, limit: int) -> bool:
    """Raises JobFailed for any other end than want of memory."""
    options, door, extra = ("--batch", batch), entry(run), {"STOWAGE_BUDGET": str(limit)}
    if side == "PyTorch":
        options, door, extra = (*options, "--limit", limit), PLAIN, EXPANDABLE
    wanted = recipe.spec(run, *options, door=door, extra=swelled(run)[0] | extra, waits=run.simulated,
                         label=f"batch {recipe.model} {side} {batch}")
    answers = jobs.once(run, wanted, [["run", ITERATIONS[side]]])
    return bool(answers) and "out_of_memory" not in answers[-1]


def search(run: Run, recipe: Recipe, side: str, start: int, limit: int, kept: dict) -> dict:
    """What was found; what is left to do, if time ran out (OutOfTime goes on up), is in `kept`."""
    found = Search(kept.get(side, {}), start, 2 if run.simulated else MOST_TRIES)
    while not found.over():
        found.put(trains(run, recipe, side, found.found["next"], limit))
        kept[side] = found.found
        run.keep(kept)
    return found.found


def largest_batch(run: Run, model: str, start: int) -> Result:
    result, recipe, kept = Result(), RECIPE_OF[model], dict(run.kept)
    limit = SIMULATED_LIMIT if run.simulated else LIMIT
    found: dict[str, dict] = {}
    try:
        for side in ("PyTorch", "Stowage"):
            # Where PyTorch ends is where Stowage's search begins: at the goal.
            first = start if side == "PyTorch" else max(int(GOAL * found["PyTorch"]["trained"]), 1)
            found[side] = search(run, recipe, side, first, limit, kept)
    except JobFailed as error:
        result.fail(f"{model}: a job ended, and not for want of memory", str(error))
    except OutOfTime as error:
        return Result(cut=True, kept=kept, notes=[f"the search goes on another time: {error}"[:400]])
    title = TITLE.format(limit="16 GiB" if limit == LIMIT else f"{limit >> 20} MiB")
    for side, one in found.items():
        name = "PyTorch, expandable segments" if side == "PyTorch" else "Stowage"
        result.row(title, HEAD, model, name, one["trained"], one["failed"] or "none tried", one["tries"])
    if len(found) == 2 and found["PyTorch"]["trained"]:
        ratio = found["Stowage"]["trained"] / found["PyTorch"]["trained"]
        result.figure(f"{model}: largest batch in {title.split(' in ')[1]}, Stowage / PyTorch", ratio, "ratio",
                      ("PyTorch, expandable segments", 1.0), goal={"at_least": GOAL} if run.judged else None)
    return result


def steps() -> dict[str, Step]:
    # Where the search begins: about what fits.
    starts = {"gpt2_medium": 8, "resnet50_b184": 160, "bert_large": 24}
    found = [Step(f"largest batch {model}", SECTION, functools.partial(largest_batch, model=model, start=start), 90,
                  15 if model == "gpt2_medium" else None, RECIPE_OF[model].lacks) for model, start in starts.items()]
    return {step.name: step for step in found}
