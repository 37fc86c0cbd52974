"""Placement in figures: the page docs/results/placement.md, through the command `stowage place`.

    .venv/bin/python benchmarks/placement_table.py --write                          # all of it, some minutes
    .venv/bin/python benchmarks/placement_table.py --write --minimalloc CHECKOUT    # beside minimalloc, built for the run
    .venv/bin/python benchmarks/placement_table.py --rows zoo,lowest --write        # some sections; the others stay
    .venv/bin/python benchmarks/placement_table.py --quick                          # does it work
"""

import argparse
import pathlib
import time

from placement import ablation, responses, sections
from placement.minimalloc import Minimalloc
from placement.page import write
from placement.runs import ROOT, Settings

PAGE = ROOT / "docs" / "results" / "placement.md"
ROWS = {"capacity": sections.capacity, "lowest": sections.lowest, "training": sections.training, "huge": sections.huge,
        "zoo": sections.zoo, "stop": responses.stop, "replan": responses.replan, "ablation": ablation.ablation}
NAMES = sections.TITLES | responses.TITLES | {"ablation": ablation.TITLE}
TITLES = [NAMES[name] for name in ROWS]


def chosen(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in ROWS]:
        raise argparse.ArgumentTypeError(f"{unknown[0]} is none of {', '.join(ROWS)}")
    return names


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few short runs; does it work")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    parser.add_argument("--rows", type=chosen, default=list(ROWS), metavar="NAME,…", help=f"some of {', '.join(ROWS)}")
    parser.add_argument("--minimalloc", type=pathlib.Path, metavar="PATH", help="a checkout of its source, or the program")
    parser.add_argument("--seeds", type=int, default=20, help="runs of each problem at capacity")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    if options.quick and options.write:
        parser.error("what --quick measures is not for the page")
    settings = Settings(quick=options.quick, threads=options.threads, seeds=2 if options.quick else options.seeds)
    if options.minimalloc:
        settings.minimalloc = Minimalloc(options.minimalloc)
    made = []
    for name in options.rows:
        begun = time.monotonic()
        made.append(ROWS[name](settings))
        print("\n".join([f"## {made[-1].title} ({time.monotonic() - begun:.0f} s)", "", *made[-1].lines, "",
                         *(verdict.line() for verdict in made[-1].verdicts), ""]), flush=True)
    if options.write:
        PAGE.write_text(write(made, PAGE.read_text(), TITLES))


if __name__ == "__main__":
    main()
