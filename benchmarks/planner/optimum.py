"""Schedules of chains beside the optimum: the page docs/results/optimum.md.

    python benchmarks/planner/optimum.py            # all of it
    python benchmarks/planner/optimum.py --write    # and writes the page
    python benchmarks/planner/optimum.py --quick    # does it work?

planner_make_chains makes the chains and the schedules; HiGHS solves Checkmate's program for the same (checkmate.py).
"""

import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from benchmarks.pages import ROOT, Page, table  # noqa: E402
from benchmarks.planner.checkmate import Optimum, Program  # noqa: E402

PAGE = Page(__file__)
BUILD = ROOT / os.environ.get("STOWAGE_BUILD", "build")
SECONDS = 120
HEAD = """# Schedules of chains beside the optimum

{origin}

Layers forward and back, alike or of any sizes and times, with and without a skip over each three, at 75, 50 and 40 % of
their peak. The optimum is that of Checkmate's program, solved by HiGHS within {seconds} s a cell; what it did not finish is
compared with its bound or with the scheduler's own, whichever is higher. *Above*: by how much the whole iteration takes
longer than with the optimum. tests/planner/optimum/ compares 798 smaller iterations with the runtime's own rules.

"""


class Cell:
    """One chain at one budget."""

    def __init__(self, chain: dict, cell: dict, optimum: Optimum):
        self.chain, self.cell, self.optimum = chain, cell, optimum
        self.plain = sum(op["us"] for op in chain["ops"])
        self.found = cell["schedule"]

    def is_missed(self) -> bool:
        """No schedule with 5 % more memory, though there is one with less."""
        return not self.cell["with_5_percent_more"] and self.optimum.least is not None

    def above(self) -> float:
        """In percent of the iteration's time, with what is known of the optimum."""
        known = self.optimum.least if self.optimum.proven else max(self.optimum.bound, self.found["bound_us"])
        return 100 * (self.found["us"] - known) / (self.plain + known)


def solved(chain: dict, cell: dict, seconds: float) -> Cell:
    return Cell(chain, cell, Program(chain["ops"], cell["budget"] - chain["before"]).solve(seconds))


def row(cells: list[Cell]) -> tuple[str, ...]:
    first = cells[0].chain
    there = [cell for cell in cells if cell.found]
    proven = [cell.above() for cell in there if cell.optimum.proven]
    others = [cell.above() for cell in there if not cell.optimum.proven]
    worst = [f"{max(figures):.1f} %" if figures else "-" for figures in (proven, others)]
    none = sum(cell.optimum.infeasible for cell in cells)
    return ("with skips" if first["residual"] else "chain", str(len(first["ops"])), str(len(cells) - none), str(none),
            f"{sum(above < 0.005 for above in proven)} of {len(proven)}", *worst,
            str(sum(cell.is_missed() for cell in cells)))


def main() -> None:
    parser = PAGE.parser(__doc__, quick="the shortest chains, 2 s each")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each cell")
    options: argparse.Namespace = PAGE.parse(parser, "seconds")
    chains = json.loads(subprocess.run([BUILD / "benchmarks/planner/planner_make_chains"], text=True, check=True,
                                       stdout=subprocess.PIPE).stdout)
    seconds = options.seconds
    if options.quick:
        chains, seconds = chains[:2], 2.0
    work = [(chain, cell, seconds) for chain in chains for cell in chain["cells"]]
    with concurrent.futures.ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        cells = list(pool.map(solved, *zip(*work, strict=True)))
    rows = [("job", "ops", "cells", "none within the budget", "optimal, of those proven", "above the optimum at most",
             "above the bound at most, of the others", "missed with 5 % more")]
    key = lambda cell: (cell.chain["residual"], len(cell.chain["ops"]))  # noqa: E731
    rows += [row(list(group)) for _, group in itertools.groupby(sorted(cells, key=key), key)]
    text = HEAD.format(origin=PAGE.origin(), seconds=f"{seconds:g}") + table(rows) + "\n"
    print(text)
    PAGE.write(options, text)


if __name__ == "__main__":
    main()
