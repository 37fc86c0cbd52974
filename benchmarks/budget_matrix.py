"""What a budget does to the jobs of tests/budget: the same bits or not, bytes held, recomputation, resident size.

    python benchmarks/budget_matrix.py --out docs/results/budget.md [--jobs NAME …]     each job four times; --quick: one

Each job runs plain, then at 75, 50 and 33 % of its own peak through the front door (STOWAGE=1 STOWAGE_BUDGET=…).
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from tests.budget.jobs import JOBS  # noqa: E402
from tests.budget.runs import ITERATIONS, differences, run, under  # noqa: E402

PERCENTS = (75, 50, 33)
MIB = 1 << 20
HEAD = f"""# Jobs under a budget

Made by `python benchmarks/budget_matrix.py`; {ITERATIONS} iterations each on the CPU, one thread. *Peak*: what the job's
tensors hold without a budget. *Bits*: losses, gradients, parameters, buffers, optimizer and RNG state against the plain
job. *Recomputed*: host time of ops run again over that of the job's own. *Resident*: rise of the process's resident size,
plain, then at those of 50 % and 33 % that ended (there the limit stood from the first allocation on).
""".split("\n")


def cell(plain: dict, left: dict) -> str:
    budget = left["report"]["budget"]
    if left["error"]:
        return "out of memory, told"
    same = "same bits" if not differences(plain, left) else "**other bits**"
    within = "" if budget["peak_held_bytes"] <= budget["limit_bytes"] else ", **over the limit**"
    again = 100 * budget["recompute_ms"] / max(budget["ops_ms"], 1e-9)
    return f"{same}{within}; {budget['evictions']} evicted; {again:.0f} % recomputed"


def row(name: str) -> str:
    plain = run(name)[name]
    first = under(name, f"{PERCENTS[0]}%")
    peak = first["report"]["budget"]["own_peak_bytes"]
    runs = [first, *(under(name, str(peak * percent // 100)) for percent in PERCENTS[1:])]
    resident = [plain["resident"], *(left["resident"] for left in runs[1:] if not left["error"])]
    sizes = " / ".join(f"{rise / MIB:.0f}" for rise in resident)
    return f"| {name} | {peak / MIB:.2f} | {' | '.join(cell(plain, left) for left in runs)} | {sizes} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, help="the page to write")
    parser.add_argument("--jobs", nargs="+", choices=list(JOBS), default=list(JOBS))
    parser.add_argument("--quick", action="store_true", help="one job only")
    arguments = parser.parse_args()
    names = arguments.jobs[:1] if arguments.quick else arguments.jobs
    lines = [*HEAD, "| job | peak, MiB | at 75 % | at 50 % | at 33 % | resident, MiB |", "|---|---|---|---|---|---|"]
    for name in names:
        lines.append(row(name))
        print(lines[-1], flush=True)
        if arguments.out:
            arguments.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
