"""What jobs hold whose iterations are not all alike: native allocator, expandable segments, Stowage.

    python benchmarks/reserved/reserved.py            # all jobs on the simulated device
    python benchmarks/reserved/reserved.py --quick    # small ones
    python benchmarks/reserved/reserved.py --write    # and writes docs/results/reserved.md

Exits with 1 if a job reserves more than 1 % above the better of PyTorch's allocators with Stowage; not with --quick.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import torch

from benchmarks.pages import Page
from tests.reserved import jobs, runs

PAGE = Page(__file__)
MOST = 1.01  # of the better of PyTorch's allocators
ITERATIONS = 90
MIB = 1 << 20
SETTINGS = ("native", "expandable", "stowage")

Row = dict[str, runs.Outcome]


def better(row: Row) -> int:
    return min(row["native"].reserved, row["expandable"].reserved)


def missed(row: Row) -> bool:
    return row["stowage"].reserved > MOST * better(row)


def line(job: str, row: Row) -> str:
    report = row["stowage"].report
    cells = [job, *(f"{row[setting].reserved / MIB:,.0f}" for setting in SETTINGS),
             f"{row['stowage'].reserved / better(row):.3f}", f"{row['stowage'].allocated / MIB:,.0f}",
             str(report["replans"]), report["state"] + (f": {report['reason']}" if report["reason"] else "")]
    return "| " + " | ".join(cells) + " |"


def table(rows: dict[str, Row]) -> str:
    head = ("job", *SETTINGS, "/ better", "peak allocated", "plans left", "state at the end")
    return "\n".join(["| " + " | ".join(head) + " |", "|---" * len(head) + "|",
                      *(line(job, row) for job, row in rows.items())]) + "\n"


def verdict(rows: dict[str, Row]) -> str:
    failed = [job for job, row in rows.items() if missed(row)]
    return f"At most {MOST:.2f} of the better of the two: {'missed by ' + ', '.join(failed) if failed else 'reached'}.\n"


def page(rows: dict[str, Row]) -> str:
    about = "\n".join(f"- `{name}`: {' '.join((job.__doc__ or '').split())}" for name, job in jobs.JOBS.items())
    return f"""# What jobs reserve whose iterations are not all alike

{PAGE.origin()}

Torch {torch.__version__}, simulated device of 80 GiB
(`simulator/README.md`), jobs of `tests/reserved/jobs.py` in two sizes, {ITERATIONS} iterations each in a process of its
own, Stowage through the entry point. Columns in MiB: the most of `torch.cuda.max_memory_reserved()` in the last third of
the iterations, with Stowage arena and upstream together.

{table(rows)}
{about}

{verdict(rows)}"""


def main() -> int:
    parser = PAGE.parser(__doc__, quick="small jobs, few iterations")
    parser.add_argument("--jobs", default=",".join(jobs.JOBS), help="names, with commas")
    options = PAGE.parse(parser, "jobs")
    iterations = 30 if options.quick else ITERATIONS
    sizes = ("small",) if options.quick else ("usual", "large")
    rows = {f"{job}, {size}": {setting: runs.run(job, setting, size=size, iterations=iterations) for setting in SETTINGS}
            for size in sizes for job in options.jobs.split(",")}
    print(table(rows) + "\n" + verdict(rows), end="")
    PAGE.write(options, page(rows))
    return 1 if not options.quick and any(missed(row) for row in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
