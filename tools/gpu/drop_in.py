"""Drop-in: does Stowage load, does each front door reach its plan, and does the job leave the same bits as without it.

A planned job is compared with a plain one in everything that training changes: losses, gradients, parameters, buffers,
optimizer and random state, bit by bit, with deterministic algorithms. Where they differ, the plain job is run once more: if
that differs from itself too, the job does not repeat its bits, and nothing can be said.
"""

import functools
from dataclasses import replace

from tests.zoo import harness, simulated
from tools.gpu import jobs, machine
from tools.gpu.jobs import PLAIN
from tools.gpu.recipes import OPTIONS, RECIPES, Recipe, how_many
from tools.gpu.results import Result
from tools.gpu.suite import Run, Step

SECTION = "Drop-in"
ITERATIONS = 12
COMMANDS = [["run", ITERATIONS], ["report"], ["digests"]]
HEAD = ("job", "trained with", "door", "state", "planned after", "misses in the last iteration", "bits")


def differing(a: dict, b: dict) -> list[str]:
    return harness.differences(a["digests"], b["digests"])


def bits(run: Run, result: Result, what: str, plain: list[dict] | None, ours: list[dict], again) -> str:
    """The cell on equal bits. `again`: runs the plain job once more."""
    if run.simulated:
        return "not computed"
    if plain is None:
        return "no plain job to compare with"
    found = differing(plain[-1], ours[-1])
    count = len(plain[-1]["digests"])
    if not found and not count:
        result.check(f"{what}: same bits", False, "the jobs left nothing to compare")
        return "nothing to compare"
    if not found:
        result.check(f"{what}: same bits", True, f"{count} values")
        return f"{count} equal"
    control = again()
    unsteady = differing(plain[-1], control[-1]) if control else []
    if unsteady:
        result.left_out.append(f"{what}: the plain job does not repeat its own bits ({len(unsteady)} of {count} values "
                               f"differ between two plain runs, first {unsteady[0]}), so nothing is said about Stowage")
        return f"plain does not repeat itself ({len(unsteady)} of {count})"
    result.check(f"{what}: same bits", False, f"{len(found)} of {count} values differ, first {', '.join(found[:5])}")
    return f"**{len(found)} of {count} differ**"


def judge(run: Run, result: Result, title: str, what: str, recipe: Recipe, door: str, plain, ours, again) -> None:
    """A row, and the checks behind it. `ours`: a job's answers to COMMANDS, or None."""
    if ours is None:
        return result.row(title, HEAD, what, recipe.told, door, "**failed**", "", "", "")
    if "out_of_memory" in ours[-1]:
        result.check(f"{what}, {door}: runs", False, ours[-1]["out_of_memory"])
        return result.row(title, HEAD, what, recipe.told, door, "**out of memory**", "", "", "")
    report = ours[1]
    state, misses = report.get("state", "no report"), report.get("last_iteration_misses")
    result.check(f"{what}, {door}: planned, without a miss", state == "planned" and misses == 0,
                 f"state {state}, {misses} misses in the last iteration. {report.get('reason', '')}".strip())
    result.row(title, HEAD, what, recipe.told, door, state, report.get("switched_at_iteration", ""), misses,
               bits(run, result, f"{what}, {door}", plain, ours, again))


def compare(run: Run, result: Result, title: str, cases: dict[str, Recipe], doors: tuple[str, ...]) -> None:
    """Each case's job plain and through each door, as many side by side as the device has room for."""
    def done(what: str, door: str, label: str):
        wanted = cases[what].spec(run, *cases[what].exact(), door=door, label=f"{what} {label}")
        return jobs.attempt(run, wanted, COMMANDS, result.fail)

    room = how_many(run, max(recipe.gib for recipe in cases.values()), jobs.AT_ONCE)
    wanted = [(what, door) for what in cases for door in (PLAIN, *doors)]
    found = jobs.side_by_side(run, [functools.partial(done, what, door, door) for what, door in wanted], room)
    answers = dict(zip(wanted, found))
    for what in cases:
        plain = answers[what, PLAIN]
        if plain is not None and "digests" not in plain[-1]:
            result.fail(f"{what}: the plain job runs out of memory", plain[-1].get("out_of_memory", ""))
            plain = None
        for door in doors:
            judge(run, result, title, what, cases[what], door, plain, answers[what, door],
                  functools.partial(done, what, PLAIN, "plain again"))


def cpp_tests(run: Run) -> Result:
    """Those labelled gpu; on the simulated device the same ones under its own label."""
    result = Result()
    words = ["ctest", "--test-dir", str(simulated.build_folder()), "-L", "^simulated$" if run.simulated else "^gpu$",
             "--no-tests=error", "--verbose", "--timeout", "120"]
    try:
        output, passed = jobs.program(run, "ctest", words, harness.clean_environment()), True
    except jobs.JobFailed as error:
        output, passed = str(error), False
        result.fail("C++ tests", output)
    summary = [line.strip() for line in output.splitlines() if "tests passed" in line]
    skipped = [line.strip() for line in output.splitlines() if "SKIPPED" in line]  # as where no device is seen
    result.check("C++ tests on the device", passed and not skipped, "; ".join(summary + skipped))
    return result


def load(run: Run) -> Result:
    """The smallest job through the entry point: whether anything works at all."""
    result = Result()
    plain = jobs.attempt(run, jobs.spec("mlp", label="mlp plain"), [["machine"], ["run", ITERATIONS]], result.fail)
    ours = jobs.attempt(run, jobs.spec("mlp", door=entry(run), label="mlp entry_point"),
                        [["run", ITERATIONS], ["report"], ["memory"]], result.fail)
    if plain:
        result.kept = {"device": plain[0]}
    if ours:
        report = ours[1]
        result.check("a small job is planned", report.get("state") == "planned", str(report)[:1500])
        result.row("The smallest job", ("model", "state", "planned after", "hits", "reserved, MiB"), "mlp",
                   report.get("state", "no report"), report.get("switched_at_iteration", ""), report.get("hits", ""),
                   ours[2].get("reserved_bytes.all.current", 0) >> 20)
    if foreign := machine.others():
        result.notes.append(f"other processes use the GPU: {'; '.join(foreign)}")
    return result


def entry(run: Run) -> str:
    """The entry point; on the simulated device in a fork of a warm process."""
    return "warm_entry_point" if run.simulated else jobs.ENTRY


def here(run: Run, result: Result, cases: dict[str, Recipe]) -> dict[str, Recipe]:
    """Those whose libraries are here; the others are left out by name."""
    result.left_out += [f"{what}: {lacking}" for what, recipe in cases.items() if (lacking := recipe.lacks(run))]
    return {what: recipe for what, recipe in cases.items() if not recipe.lacks(run)}


def several(run: Run, title: str, cases: dict[str, Recipe], doors: tuple[str, ...] = ()) -> Result:
    """`doors`: none for the entry point alone."""
    result = Result()
    if found := here(run, result, cases):
        compare(run, result, title, found, doors or (entry(run),))
    return result


TITLES = {"drop-in": "Models, each as it is usually trained", "doors": "Every front door", "options": "One option at a time"}
TOGETHER = ("bert_base", "vit_b16", "gpt2_medium", "llama_1b")


def steps() -> dict[str, Step]:
    found = [Step("load", SECTION, load, 20, 10), Step("C++ tests", SECTION, cpp_tests, 15, 10)]
    for model, recipe in RECIPES.items():
        # PyTorch's interface for other allocators has no cacheInfo, which cuDNN's search for an algorithm calls.
        usual = replace(recipe, options=tuple(word for word in recipe.options if word != "--benchmark"))
        work = functools.partial(several, title=TITLES["doors"], cases={model: usual}, doors=harness.CUDA_DOORS)
        found.append(Step(f"doors {model}", SECTION, work, 35, 30 if model == "gpt2_small" else None, recipe.lacks))
    for name, models in (("resnet50", ("resnet50",)), ("others", TOGETHER)):
        work = functools.partial(several, title=TITLES["drop-in"], cases={model: RECIPES[model] for model in models})
        found.append(Step(f"drop-in {name}", SECTION, work, 15 + 6 * len(models), 5 + 4 * len(models)))
    for model in sorted({recipe.model for _, recipe in OPTIONS}):
        cases = {f"{model}, {what}": recipe for what, recipe in OPTIONS if recipe.model == model}
        work = functools.partial(several, title=TITLES["options"], cases=cases)
        found.append(Step(f"options {model}", SECTION, work, 10 + 6 * len(cases), 20 if model == "gpt2_small" else None))
    return {step.name: step for step in found}
