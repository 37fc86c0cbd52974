"""Programs written for other libraries, run as they are: do plans fit the jobs that people run?

    python benchmarks/frameworks/frameworks.py                               # every program in every mode
    python benchmarks/frameworks/frameworks.py --programs DDP,FSDP2 --modes plain,planned --pairs 0
    python benchmarks/frameworks/frameworks.py --write                       # and writes docs/results/frameworks.md

The programs know nothing of Stowage. They need requirements.txt beside this file, which nothing else does. rows.py lists
them; with LONG=1 in the environment they run a third of the iterations. Exits with 1 where a row misses a bar (bars.py).
"""

import concurrent.futures
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from benchmarks import paired
from benchmarks.frameworks import bars, page
from benchmarks.frameworks.figures import Measured
from benchmarks.frameworks.rows import ROWS
from benchmarks.frameworks.run import MODES, ON_CUDA, Outcome, cpu_pairs, run
from benchmarks.pages import Page

PAGE = Page(__file__)
QUICK = ["accumulation"]  # needs torch alone


def tell(name: str, mode: str, outcome: Outcome) -> None:
    print(f"{name:20} {mode:10} status {outcome.status:3} {outcome.seconds:6.1f} s  {page.states(outcome)}",
          file=sys.stderr, flush=True)
    for line in outcome.said:
        print("    " + line, file=sys.stderr, flush=True)
    if outcome.failed:
        print(outcome.errors[-3000:], file=sys.stderr, flush=True)


def run_all(names: list[str], modes: list[str], jobs: int) -> dict[str, Measured]:
    rows = {name: Measured({}) for name in names}

    def one(key: tuple[str, str]) -> None:
        outcome = run(*key)
        rows[key[0]].outcomes[key[1]] = outcome
        tell(*key, outcome)
    wanted = [(name, mode) for name in names for mode in modes if mode not in ON_CUDA or ROWS[name].ranks == 1]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, wanted))
    return rows


def add_cpu(rows: dict[str, Measured], pairs: int) -> None:
    """One run at a time: CPU time is that of all child processes."""
    for name, measured in rows.items():
        ours, theirs = cpu_pairs(name, pairs)
        if ours:
            measured.cpu = paired.ratio(ours, theirs)
            print(f"{name:20} CPU time   {paired.text(measured.cpu)}", file=sys.stderr, flush=True)


def main() -> int:
    parser = PAGE.parser(__doc__, quick="one program, plain and planned, bits alone")
    parser.add_argument("--programs", default=",".join(ROWS), help="names, with commas")
    parser.add_argument("--modes", default=",".join(MODES), help=f"of {', '.join(MODES)}")
    parser.add_argument("--pairs", type=int, default=3, help="with and without Stowage, to compare CPU time; 0: none")
    parser.add_argument("--jobs", type=int, default=2, help="at the same time")
    options = PAGE.parse(parser, "programs", "modes")
    names, modes = options.programs.split(","), options.modes.split(",")
    if unknown := [word for word in names + modes if word not in ROWS and word not in MODES]:
        parser.error(f"there is no program or mode {', '.join(unknown)}")
    if options.quick:
        names, modes, options.pairs = QUICK, ["plain", "planned"], 0
    rows = run_all(names, modes, options.jobs)
    add_cpu(rows, options.pairs)
    print("\n".join(text for text in page.tables(rows).values() if text))
    print(bars.verdict(rows), end="")
    PAGE.write(options, page.text(PAGE.origin(), rows))
    if options.quick:
        return 1 if any(list(bars.of_bits(measured)) for measured in rows.values()) else 0
    return 1 if bars.missed(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
