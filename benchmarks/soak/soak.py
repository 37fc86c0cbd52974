"""Random jobs (tests/soak/program.py): the same bits as plain PyTorch, and no more memory reserved.

    python benchmarks/soak/soak.py                  # 20 jobs of 200 iterations
    python benchmarks/soak/soak.py --jobs 3 --iterations 60
    python benchmarks/soak/soak.py --first 100      # other jobs: seeds from 100 on
    python benchmarks/soak/soak.py --write          # and writes docs/results/soak.md

Exits with 1 if a job broke a promise; its program is printed.
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import torch

from benchmarks.pages import Page
from tests.soak import program, runs

PAGE = Page(__file__)
MIB = 1 << 20
SETTINGS = ("native", "expandable", "stowage")
HEAD = ("seed", "job", "bits planned", f"bits at {runs.BUDGET}", f"at {runs.TIGHT}, offloaded", "native", "expandable",
        "stowage", "/ better", "peak / better", "state at the end", "broken")


def bits(job: runs.Job, name: str) -> str:
    left = job.cpu[name]
    if left.status != 0:
        return "out of memory" if left.out_of_memory else "failed"
    return "other" if job.differing(name) else "same"


def ratio(job: runs.Job, of) -> str:
    better = min(of(job, "native"), of(job, "expandable"))
    return f"{of(job, 'stowage') / better:.3f}"


def row(job: runs.Job, faults: list[str]) -> str:
    cells = [str(job.seed), program.summary(job.seed), *(bits(job, name) for name in ("planned", *runs.UNDER_BUDGETS))]
    if any(left.status != 0 for left in job.cuda.values()):
        cells += ["-"] * 5
    else:
        cells += [f"{job.steady_reserved(setting) / MIB:,.0f}" for setting in SETTINGS]
        cells += [ratio(job, runs.Job.steady_reserved), ratio(job, runs.Job.peak_reserved)]
    return "| " + " | ".join([*cells, job.cuda["stowage"].state, str(len(faults)) if faults else ""]) + " |"


def page(rows: list[str], options: argparse.Namespace, broken: int) -> str:
    verdict = "Every promise was kept." if broken == 0 else f"{broken} of {len(rows)} jobs broke a promise."
    table = "\n".join(["| " + " | ".join(HEAD) + " |", "|---" * len(HEAD) + "|", *rows])
    return f"""# A soak of random jobs

{PAGE.origin()}

Torch {torch.__version__}, {options.iterations} iterations each, seeds from
{options.first} on; `tests/soak/program.py` makes a job's program of its seed. Bits are compared on the CPU: all parameters,
optimizer state, buffers, kept tensors, losses and the generator, planned, under a budget of {runs.BUDGET} of the peak, and
under one of {runs.TIGHT} with a spill file for what cannot be recomputed.
Memory is that of the simulated device (`simulator/README.md`), in MiB: the most that was reserved after any iteration of
the second half, arena and upstream together, also against the better of native and expandable segments; the peak is that of
the whole job. Promised is at most {1 + runs.MORE:.2f} of the better, steady and at the peak.

PyTorch maps expandable segments in pages of at least 12 MiB, with which Stowage records. Optimizer state and workspaces have
a pool of their own meanwhile, and their last page is seldom full: more than 1 % of a job that holds less than 1.2 GiB.

{table}

{verdict}
"""


def main() -> int:
    parser = PAGE.parser(__doc__, quick="one job of 30 iterations")
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--iterations", type=int, default=runs.ITERATIONS)
    options = PAGE.parse(parser, "jobs", "first", "iterations")
    if options.quick:
        options.jobs, options.iterations = 1, 30
    print("| " + " | ".join(HEAD) + " |", flush=True)
    rows, broken = [], 0
    for seed in range(options.first, options.first + options.jobs):
        job = runs.run_all(seed, options.iterations)
        faults = job.faults(strict=True)
        rows.append(row(job, faults))
        print(rows[-1], flush=True)
        if faults:
            broken += 1
            print("\n".join([*faults, "The job:", program.source(seed)]), file=sys.stderr, flush=True)
    PAGE.write(options, page(rows, options, broken))
    print("every promise was kept" if broken == 0 else f"{broken} of {len(rows)} jobs broke a promise")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
