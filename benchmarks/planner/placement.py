"""Placement in figures: the page docs/results/placement.md, through the command `stowage place`.

    python benchmarks/planner/placement.py --write                          # all of it
    python benchmarks/planner/placement.py --write --minimalloc CHECKOUT    # beside minimalloc, built for the run
    python benchmarks/planner/placement.py --rows zoo,lowest --write        # some sections; the others stay
    python benchmarks/planner/placement.py --quick                          # does it work?
"""

import argparse
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from benchmarks.pages import Page
from benchmarks.planner.sections import ablation, heights, responses
from benchmarks.planner.sections.minimalloc import Minimalloc
from benchmarks.planner.sections.page import write
from benchmarks.planner.sections.runs import Settings

PAGE = Page(__file__)
ROWS = {"capacity": heights.capacity, "lowest": heights.lowest, "training": heights.training, "huge": heights.huge,
        "zoo": heights.zoo, "stop": responses.stop, "replan": responses.replan, "ablation": ablation.ablation}
NAMES = heights.TITLES | responses.TITLES | {"ablation": ablation.TITLE}
TITLES = [NAMES[name] for name in ROWS]


def chosen(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in ROWS]:
        raise argparse.ArgumentTypeError(f"{unknown[0]} is none of {', '.join(ROWS)}")
    return names


def main() -> None:
    parser = PAGE.parser(__doc__, quick="a few short runs")
    parser.add_argument("--rows", type=chosen, default=list(ROWS), metavar="NAME,…", help=f"some of {', '.join(ROWS)}")
    parser.add_argument("--minimalloc", type=pathlib.Path, metavar="PATH", help="a checkout of its source, or the program")
    parser.add_argument("--seeds", type=int, default=20, help="runs of each problem at capacity")
    parser.add_argument("--threads", type=int, default=2)
    options = PAGE.parse(parser, "seeds")
    settings = Settings(quick=options.quick, threads=options.threads, seeds=2 if options.quick else options.seeds)
    if options.minimalloc:
        settings.minimalloc = Minimalloc(options.minimalloc)
    made = []
    for name in options.rows:
        begun = time.monotonic()
        made.append(ROWS[name](settings))
        print("\n".join([f"## {made[-1].title} ({time.monotonic() - begun:.0f} s)", "", *made[-1].lines, "",
                         *(verdict.line() for verdict in made[-1].verdicts), ""]), flush=True)
    PAGE.write(options, write(made, PAGE.path.read_text(), TITLES))


if __name__ == "__main__":
    main()
