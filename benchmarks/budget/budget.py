"""What a budget does to the jobs of tests/budget: the same bits or not, bytes held, recomputation, resident size.

    python benchmarks/budget/budget.py                 # every job
    python benchmarks/budget/budget.py --jobs NAME …   # some
    python benchmarks/budget/budget.py --write         # and writes docs/results/budget.md

Each job runs plain, then at 75, 50 and 33 % of its own peak through the front door (STOWAGE=1 STOWAGE_BUDGET=…). Where one
of these is not reached, the least share that runs is searched, and what is held just below it is said.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from benchmarks.pages import Page  # noqa: E402
from tests.budget.jobs import DEEP, JOBS  # noqa: E402
from tests.budget.runs import ITERATIONS, differences, run, under  # noqa: E402

PAGE = Page(__file__)
PERCENTS = (75, 50, 33)
EXACT = 2  # percent: how exactly the least share is searched
KIB, MIB = 1 << 10, 1 << 20
PARTS = {"in use by the running op": "in use by the op that runs", "parameters and other pinned tensors": "pinned",
         "that cannot be recomputed": "not recomputable", "in small tensors": "small",
         "made by the running op": "made by the op that runs", "in other libraries": "scratch of replays and the like",
         "evictable": "evictable"}
HEAD = f"""# Jobs under a budget

{PAGE.origin()}

{ITERATIONS} iterations each on the CPU, one thread. *Peak*: what the job's
tensors hold without a budget. *Bits*: losses, gradients, parameters, buffers, optimizer and RNG state against the plain
job. *Recomputed*: host time of ops run again over that of the job's own. *Resident*: rise of the process's resident size,
plain, then at those of 50 % and 33 % that ended (there the limit stood from the first allocation on). *Least*: where
33 % was not reached, the least share of the peak that ran (to {EXACT} percent), and what the out-of-memory error below it
says is held, in percent of the peak (2 and more).
""".split("\n")
TABLE = ["| kind | job | peak, MiB | at 75 % | at 50 % | at 33 % | resident, MiB | least |", "|" + 8 * "---|"]
TAIL = """
Each job follows a schedule from about its seventh iteration on where one is found, with rescue before and behind it; a plan
begins three iterations later at the earliest ([recompute.md](../recompute.md)), so these short runs have none, or hardly. In
none did the count of held bytes exceed the limit. "Out of memory, told": PyTorch's `OutOfMemoryError` with the sentence that
says what would do. Close to the least share a job may run or not from one run to the next, since what is evicted first
depends on measured op cost.

Where 33 % is not reached (large_resnet18, large_unet, large_densenet), single ops of the first layers stand in the way,
which are largest, with what they read, what they write and the temporary storages of the chain (convolution, batch-norm,
in-place ReLU) that brings their inputs back. With a spill file these come from there ([offload.md](offload.md)).
""".split("\n")


def cell(plain: dict, left: dict) -> str:
    if left["error"]:
        return "out of memory, told"
    budget = left["report"]["budget"]
    same = "same bits" if not differences(plain, left) else "**other bits**"
    within = "" if budget["peak_held_bytes"] <= budget["limit_bytes"] else ", **over the limit**"
    again = 100 * budget["recompute_ms"] / max(budget["ops_ms"], 1e-9)
    return f"{same}{within}; {budget['evictions']} evicted; {again:.0f} % recomputed"


def held(error: str, peak: int) -> str:
    """What an out-of-memory error says is held, in percent of the peak."""
    def share(number: str, unit: str) -> int:
        return round(100 * int(number) * (MIB if unit == "MiB" else KIB) / peak)
    wanted = re.search(r"used up: (\d+) (KiB|MiB) more", error)
    if not wanted:  # the budget was used up while something was brought back
        return "not told"
    told = [(share(*number), name) for part, name in PARTS.items()
            for number in re.findall(rf"(\d+) (KiB|MiB) {re.escape(part)}", error)]
    large = [f"{percent} {name}" for percent, name in told if percent > 1]
    return ", ".join([f"{share(*wanted.groups())} asked for", *large])


def least(name: str, plain: dict, peak: int, runs: dict[int, dict]) -> str:
    """The least share that runs, between those of `runs` that did and did not."""
    failing = max((percent for percent, left in runs.items() if left["error"]), default=0)
    if failing == 0:
        return ""
    passing = min((percent for percent, left in runs.items() if not left["error"] and percent > failing), default=100)
    while passing - failing > EXACT:
        percent = (passing + failing) // 2
        runs[percent] = under(name, str(peak * percent // 100))
        if runs[percent]["error"]:
            failing = percent
        else:
            passing = percent
    bits = "" if passing not in runs or not differences(plain, runs[passing]) else " (**other bits**)"
    return f"{passing} %{bits}; below: {held(runs[failing]['error'], peak)}"


def row(kind: str, name: str) -> str:
    plain = run(name)[name]
    first = under(name, f"{PERCENTS[0]}%")
    peak = first["report"]["budget"]["own_peak_bytes"]
    runs = {percent: under(name, str(peak * percent // 100)) for percent in PERCENTS[1:]}
    resident = [plain["resident"], *(left["resident"] for left in runs.values() if not left["error"])]
    sizes = " / ".join(f"{rise / MIB:.0f}" for rise in resident)
    runs = {PERCENTS[0]: first} | runs
    cells = " | ".join(cell(plain, left) for left in runs.values())
    return f"| {kind} | {name} | {peak / MIB:.2f} | {cells} | {sizes} | {least(name, plain, peak, runs)} |"


def main() -> None:
    parser = PAGE.parser(__doc__, quick="one job only")
    parser.add_argument("--jobs", nargs="+", choices=list(JOBS), default=list(DEEP.values()))
    arguments = PAGE.parse(parser, "jobs")
    names = arguments.jobs[:1] if arguments.quick else arguments.jobs
    kinds = {name: kind for kind, name in DEEP.items()}
    lines = [*HEAD, *TABLE]
    for name in names:
        lines.append(row(kinds.get(name, "small"), name))
        print(lines[-1], flush=True)
    PAGE.write(arguments, "\n".join([*lines, *TAIL]))


if __name__ == "__main__":
    main()
