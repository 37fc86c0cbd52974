"""Schedules of full-size models on the simulated device: predicted overhead beside the least that any schedule could have.

    python benchmarks/budget/schedules.py                    # every model
    python benchmarks/budget/schedules.py --models NAME …    # some
    python benchmarks/budget/schedules.py --write            # and writes docs/results/schedules.md

Each model of tests/zoo trains on a simulated GPU with STOWAGE=1 STOWAGE_BUDGET=SHARE and nothing else set. Ops have modelled
times there, so that the page is the same on any machine.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from benchmarks.pages import ROOT, Page  # noqa: E402
from tests.zoo import harness  # noqa: E402
from tools.table import COMPUTED, share_of_ops  # noqa: E402

PAGE = Page(__file__)
MODELS = ("resnet50", "googlenet", "unet", "mobilenet_v2", "vgg16", "gpt2", "gpt2_medium", "bert_base", "bert_large",
          "vit_b16", "vit_l16", "llama_1b")
SHARES = (75, 66, 50, 40, 33)
ITERATIONS = 24
HOST_MEMORY = "16GiB"  # that may be pinned; the simulator takes it from the machine that runs this
TIMES = (COMPUTED, ("wait_ms",), ("copy_ms",), ("least_ms",))
NONE = re.compile(r"no schedule keeps this iteration within (\S+) MiB, and none can within less than (\S+) MiB; the least "
                  r"budget for which one was found is (\S+) MiB")
HEAD = f"""# Schedules of full-size models

{PAGE.origin()}

{ITERATIONS} iterations each on the simulated device (`simulator/README.md`), at shares of the model's own peak, on a host
with {HOST_MEMORY} of memory that may be pinned for what is offloaded. In a cell:
what the schedule recomputes and encodes and, if it copies to pinned memory and back, what ops wait for that, of what the
copies take, in percent of the time of the iteration's ops, by the modelled times that it was made with; in brackets the
least that any schedule within these bytes could recompute and wait, a lower bound (docs/schedule.md). *None*: no
schedule was found; the budget below which none can be, by such a bound, and the least one for which a schedule was found.
*Out of memory*: rescue could not hold the budget either, so that there was no iteration to make a schedule of. *No
schedule: rescuing*: none was made within these iterations. Three lists of tensors are read in parts of an eighth of the
budget, so that what an iteration needs at least differs between cells of a row.

"""
TABLE = f"""| model | {" | ".join(f"at {share} %" for share in SHARES)} |
|{(len(SHARES) + 1) * "---|"}
"""
REACHED = """
How many iterations had ended when the first schedule was followed, and when an arena was planned under it (*-*: not within
these iterations). The limit is known after the second; evictions begin in the third; it takes two of them and one that is
logged to have a schedule.

"""


def run(model: str, share: int) -> str:
    """All that the job wrote."""
    commands = json.dumps([["run", ITERATIONS], ["report"]])
    with tempfile.TemporaryDirectory() as folder:
        settings = {"STOWAGE_BUDGET": f"{share}%", "STOWAGE_HOST_MEMORY": HOST_MEMORY, "STOWAGE_VERBOSE": "1",
                    "OMP_NUM_THREADS": "1"}
        environment = harness.environment("entry_point", "simulated", pathlib.Path(folder) / "report.json", settings)
        words = ["tools/gpu/worker.py", "--model", model, "--size", "full", "--do", commands]
        return subprocess.run(harness.command("entry_point", words), env=environment, cwd=ROOT, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout


def report_in(output: str) -> dict:
    """The last that the worker answered, or nothing where it did not come so far."""
    return next((answer for answer in reversed(harness.answers_in(output)) if answer.get("budget")), {})


def cell(output: str, share: int) -> str:
    report = report_in(output)
    schedule = report.get("budget", {}).get("schedule", {})
    if schedule.get("since_iteration") and schedule["ops_ms"]:
        runs, waits, copies, least = (share_of_ops(schedule, *keys) for keys in TIMES)
        copied = f" + {waits:.1f} of {copies:.1f}" if copies else ""
        return f"{runs:.1f}{copied} (≥ {least:.1f})"
    if found := NONE.search(output):
        budget, bound, least = map(float, found.groups())
        return f"none below {share * bound / budget:.1f} %, found {share * least / budget:.1f} %"
    if "out_of_memory" in output:
        return "out of memory"
    return schedule.get("reason") or f"no schedule: {report.get('state', 'no report')}"


def reached(output: str) -> str:
    report = report_in(output)
    since = report.get("budget", {}).get("schedule", {}).get("since_iteration")
    return f"{since} / {report.get('switched_at_iteration') or '-'}" if since else "-"


def main() -> None:
    parser = PAGE.parser(__doc__, quick="one model at one share only")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    arguments = PAGE.parse(parser, "models")
    models, shares = (arguments.models[:1], SHARES[1:2]) if arguments.quick else (arguments.models, SHARES)
    lines, marks = [], []
    for model in models:
        outputs = [run(model, share) for share in shares]
        lines.append(f"| {model} | {' | '.join(map(cell, outputs, shares))} |")
        marks.append(f"| {model} | {' | '.join(map(reached, outputs))} |")
        print(lines[-1], marks[-1], sep="\n", flush=True)
    if any("no report" in line for line in lines):
        sys.exit("a model left no report")
    PAGE.write(arguments, HEAD + TABLE + "\n".join(lines) + "\n" + REACHED + TABLE + "\n".join(marks) + "\n")


if __name__ == "__main__":
    main()
