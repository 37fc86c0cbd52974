"""What offloading does to a budget: jobs of any sort at 75, 50, 33 and 20 % of their own peak, with a spill file.

    python benchmarks/budget/offload.py                 # every job
    python benchmarks/budget/offload.py --jobs NAME …   # some
    python benchmarks/budget/offload.py --write         # and writes docs/results/offload.md

The 21 jobs of the page of budgets, and those of tests/budget/heavy_jobs.py, whose parameters, gradients and optimizer state
are most of what they hold. Each runs plain, then with STOWAGE=1 STOWAGE_BUDGET=… STOWAGE_SPILL=FOLDER.
"""

import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from benchmarks.pages import Page  # noqa: E402
from tests.budget.heavy_jobs import HEAVY  # noqa: E402
from tests.budget.jobs import DEEP  # noqa: E402
from tests.budget.runs import ITERATIONS, differences, run, under  # noqa: E402

PAGE = Page(__file__)
PERCENTS = (75, 50, 33, 20)
KINDS = {name: kind for kind, name in DEEP.items()} | HEAVY
HEAD = f"""# Budgets with offloading

{PAGE.origin()}

{ITERATIONS} iterations each on the CPU, one thread, with a spill file on the disk of this machine. *Peak*: what the
job's tensors hold without a budget. Each cell: whether losses, gradients, parameters, buffers, optimizer and RNG state
are the plain job's bit for bit and the count of held bytes stayed within the limit; then what was recomputed and what
was copied to the file and back, as host time over that of the job's own ops. Where a job does not fit: what the op that
runs reads, writes and asks for alone, in percent of the peak (below that no budget can be kept), and what stays
besides.
""".split("\n")
TABLE = ["| kind | job | peak, MiB |" + "".join(f" at {percent} % |" for percent in PERCENTS), "|" + 7 * "---|"]
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20}


WORKING_SET = ("more do not fit", "in use by the running op", "made by the running op so far")


def told(error: str, *parts: str) -> int:
    """Bytes that an out-of-memory error says of these parts."""
    numbers = [found for part in parts for found in re.findall(rf"(\d+) (KiB|MiB) {re.escape(part)}", error)]
    return sum(int(number) * UNITS[unit] for number, unit in numbers)


def lacking(error: str, peak: int, percent: int) -> str:
    """Why a job does not fit into so many percent of its peak."""
    needed = 100 * told(error, *WORKING_SET) / peak
    if needed > percent - 1:
        return f"one op needs {needed:.0f} %"
    kept = 100 * told(error, "parameters and other pinned tensors", "in other libraries") / peak
    return f"one op needs {needed:.0f} %, its workspace and what stays {kept:.0f} %"


def cell(plain: dict, left: dict, peak: int, percent: int) -> str:
    if left["error"]:
        return lacking(left["error"], peak, percent)
    budget = left["report"]["budget"]
    same = "same bits" if not differences(plain, left) else "**other bits**"
    within = "" if budget["peak_held_bytes"] <= budget["limit_bytes"] else ", **over the limit**"
    again, copies = (100 * budget[key] / max(budget["ops_ms"], 1e-9) for key in ("recompute_ms", "copy_ms"))
    return f"{same}{within}; {again:.0f} + {copies:.0f} %"


def row(name: str, folder: str) -> str:
    plain = run(name)[name]
    first = under(name, f"{PERCENTS[0]}%", STOWAGE_SPILL=folder)
    peak = first["report"]["budget"]["own_peak_bytes"]
    runs = [first] + [under(name, str(peak * percent // 100), STOWAGE_SPILL=folder) for percent in PERCENTS[1:]]
    cells = " | ".join(cell(plain, left, peak, percent) for percent, left in zip(PERCENTS, runs))
    return f"| {KINDS[name]} | {name} | {peak / (1 << 20):.1f} | {cells} |"


def main() -> None:
    parser = PAGE.parser(__doc__, quick="one job only")
    parser.add_argument("--jobs", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--spill", metavar="FOLDER", help="where the spill file goes; default a temporary folder")
    arguments = PAGE.parse(parser, "jobs")
    names = arguments.jobs[-1:] if arguments.quick else arguments.jobs
    lines = [*HEAD, *TABLE]
    with tempfile.TemporaryDirectory(dir=arguments.spill) as folder:
        for name in names:
            lines.append(row(name, folder))
            print(lines[-1], flush=True)
    PAGE.write(arguments, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
