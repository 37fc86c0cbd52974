"""Programs written for other libraries under a budget: do they keep it, and do they follow plans in it?

    python benchmarks/frameworks/frameworks_budget.py                        # every program, in 70, 60 and 50 %
    python benchmarks/frameworks/frameworks_budget.py --programs DDP --budgets 60%,50%
    python benchmarks/frameworks/frameworks_budget.py --write                # docs/results/frameworks_budget.md

Each runs once without Stowage and once under each budget, one at a time. Exits with 1 where bits differ, a limit is
exceeded, or a job ends otherwise than with an error that names a budget that would be enough.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from benchmarks.frameworks import bars, figures, page
from benchmarks.frameworks.figures import MIB, Measured
from benchmarks.frameworks.rows import ROWS, SOUND
from benchmarks.frameworks.run import BUDGET, Outcome, run
from benchmarks.pages import Page, table
from tools.table import COMPUTED, share_of_ops

PAGE = Page(__file__)
PROGRAMS = [name for name, row in ROWS.items() if row.kind != SOUND]
BUDGETS = ["70%", "60%", "50%"]
QUICK = ["accumulation"]
NOTHING = page.NOTHING
HEAD = ("program", "budget", "bits", "state at the end", "held / limit, MiB", "clean / planned", "off the plan",
        "schedules", "followed, resynced, left", "recomputed", "predicted", "CPU time")


def schedules(outcome: Outcome) -> list[str]:
    """Of the first process: kinds that have one, what became of iterations, and the share of op time in recomputation."""
    budget = outcome.reports[0]["budget"]
    schedule = budget["schedule"]
    predicted = share_of_ops(schedule, *COMPUTED) if schedule["ops_ms"] else None
    none = f"none: {schedule['reason']}" if schedule["reason"] else "none"
    return [f"{schedule['kinds']}" if schedule["followed"] else none,
            f"{schedule['iterations']}, {schedule['resynced']}, {schedule['left']}",
            f"{budget['recompute_ms'] / budget['ops_ms']:.1%}" if budget["ops_ms"] else NOTHING,
            f"{predicted:.1f}%" if predicted is not None else NOTHING]


def line(name: str, budget: str, measured: Measured) -> tuple[str, ...]:
    outcome = measured.outcomes[BUDGET + budget]
    if outcome.least_budget:
        return name, budget, NOTHING, f"out of memory: {outcome.least_budget} would be enough", *[NOTHING] * (len(HEAD) - 4)
    if outcome.failed or not all(report.get("budget") for report in outcome.reports):
        return name, budget, page.bits(measured, BUDGET + budget), page.states(outcome), *[NOTHING] * (len(HEAD) - 4)
    held = " / ".join(f"{report['budget']['peak_held_bytes'] / MIB:.1f} of {report['budget']['limit_bytes'] / MIB:.1f}"
                      for report in outcome.reports)
    plain = measured.outcomes["plain"].cpu_s
    return (name, budget, page.bits(measured, BUDGET + budget), page.states(outcome), held, page.clean(outcome),
            f"{figures.off_plan(outcome):.2%}", *schedules(outcome), f"{outcome.cpu_s / plain:.2f}" if plain else NOTHING)


def faults(rows: dict[str, Measured]) -> list[str]:
    found = [f"{name}: {text}" for name, measured in rows.items() for text in bars.of_bits(measured)]
    for name, measured in rows.items():
        found += [f"{name}: {mode} is exceeded" for mode, outcome in measured.outcomes.items() for report in outcome.reports
                  if (report.get("budget") or {}).get("peak_held_bytes", 0) > report["budget"]["limit_bytes"] > 0]
    return found


def text(origin: str, shown: str, found: list[str]) -> str:
    return f"""# Programs of others under a budget

{origin}

The programs of [frameworks.md](frameworks.md) on the CPU, each in a share of its own peak, with a spill file for what cannot
be recomputed. Asked of each: bits as without Stowage, and no byte above the limit. A job ends out of memory where a single
op needs more; `generate` has no iterations, so its peak is never known.
{'None fails that.' if not found else f'These fail it: {"; ".join(found)}.'}

{shown}

*Clean / planned*: iterations that follow a plan in the last two thirds of the run, and those without a miss. *Off the plan*:
misses of all requests since the switch to the present plans. *Schedules*: kinds of iterations that have one. *Followed,
resynced, left*: iterations followed to their end, those that went on behind a few ops that differed, and those that differed
in more.
*Recomputed*: time in ops run again, to that in the job's own, in the whole run. *Predicted*: what the first kind's schedule
recomputes, of the time of its iteration's ops. *CPU time*: to that without Stowage, of one run each, start included, and
with the search for better schedules beside the job, which takes up to 15 s of another core, once: these programs train for
a few seconds.
"""


def main() -> int:
    parser = PAGE.parser(__doc__, quick="one program under one budget")
    parser.add_argument("--programs", default=",".join(PROGRAMS), help="names, with commas")
    parser.add_argument("--budgets", default=",".join(BUDGETS), help="as STOWAGE_BUDGET, with commas")
    options = PAGE.parse(parser, "programs", "budgets")
    names, budgets = options.programs.split(","), options.budgets.split(",")
    if unknown := [name for name in names if name not in ROWS]:
        parser.error(f"there is no program {', '.join(unknown)}")
    if options.quick:
        names, budgets = QUICK, BUDGETS[:1]
    rows, lines = {}, []
    for name in names:
        rows[name] = Measured({"plain": run(name, "plain")})
        for budget in budgets:
            rows[name].outcomes[BUDGET + budget] = run(name, BUDGET + budget)
            lines.append(line(name, budget, rows[name]))
            print("  ".join(lines[-1]), file=sys.stderr, flush=True)
    found = faults(rows)
    shown = table([HEAD, *lines])
    print("\n".join([shown, *found]))
    PAGE.write(options, text(PAGE.origin(), shown, found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
