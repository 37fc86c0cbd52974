"""Every front door with every full-size job of the zoo, on the simulated device: when it switches, and what it calls then.

    python benchmarks/zoo/doors.py                                  # 5 doors, 10 models
    python benchmarks/zoo/doors.py --models lstm --doors preload    # some
    python benchmarks/zoo/doors.py --write                          # and writes docs/results/doors.md

Exits with 1 if a job misses a bar. tests/zoo/test_simulated_doors.py holds the same bars.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import torch

from benchmarks.pages import Page
from tests.zoo import steady

PAGE = Page(__file__)
HEADS = {"entry_point": "entry point", "preload": "preload", "pluggable": "`change_current_allocator`",
         "enable_before": "`enable()` before CUDA", "enable_after": "`enable()` after CUDA"}

AllFigures = dict[tuple[str, str], steady.Figures]


def cell(figures: steady.Figures) -> str:
    if not figures.report.get("plans"):
        return "not planned"
    return f"{figures.report['switched_at_iteration']} / {figures.misses} / {figures.steady_calls}"


def table(all_figures: AllFigures, models: list[str], doors: list[str]) -> str:
    lines = ["| model | requests | " + " | ".join(HEADS[door] for door in doors) + " |", "|---" * (len(doors) + 2) + "|"]
    for model in models:
        plans = all_figures[model, doors[0]].report.get("plans")
        requests = plans[0]["entries"] if plans else "–"
        lines.append(f"| {model} | {requests} | " + " | ".join(cell(all_figures[model, door]) for door in doors) + " |")
    return "\n".join(lines) + "\n"


def verdict(all_figures: AllFigures) -> str:
    missed = [f"{model} through {door} ({', '.join(figures.faults())})" for (model, door), figures in all_figures.items()
              if figures.faults()]
    within = f"{steady.SWITCHED_WITHIN} iterations ({steady.SWITCHED_WITHIN + steady.TIMED_MORE} where a trace is written)"
    return (f"Planned within {within}, no miss and no device call: "
            + ("missed by " + "; ".join(missed) if missed else f"reached by all {len(all_figures)}") + ".\n")


def page(all_figures: AllFigures, models: list[str], doors: list[str]) -> str:
    return f"""# Every front door, every model

{PAGE.origin()}

Torch {torch.__version__}, simulated device of 80 GiB
(`simulator/README.md`), full-size jobs of `tests/zoo/models.py`, {steady.ITERATIONS} iterations each in a process of
its own.

{table(all_figures, models, doors)}
*Requests*: allocations of one iteration. Each cell: iterations before the plan took over / requests off the plan since
then / calls of cudaMalloc, cudaFree and the mapping functions in the last {steady.STEADY} iterations together.

{verdict(all_figures)}"""


def main() -> int:
    parser = PAGE.parser(__doc__, quick="one model through two doors")
    parser.add_argument("--models", default=",".join(steady.MODELS), help="names, with commas")
    parser.add_argument("--doors", default=",".join(steady.DOORS), help=f"of {', '.join(steady.DOORS)}")
    options = PAGE.parse(parser, "models", "doors")
    models, doors = options.models.split(","), options.doors.split(",")
    if options.quick:
        models, doors = ["lstm"], doors[:2]
    all_figures = steady.measure_all(models, doors)
    print(table(all_figures, models, doors) + "\n" + verdict(all_figures), end="")
    PAGE.write(options, page(all_figures, models, doors))
    return 1 if "missed by" in verdict(all_figures) else 0


if __name__ == "__main__":
    sys.exit(main())
