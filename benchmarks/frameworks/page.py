"""The page's tables and text, from what was measured."""

import importlib.metadata
import importlib.util

from benchmarks import paired
from benchmarks.frameworks import bars, figures
from benchmarks.frameworks.figures import MIB, REASONS, Measured
from benchmarks.frameworks.rows import ROWS, summary
from benchmarks.frameworks.run import ON_CUDA, Outcome
from benchmarks.pages import table

PACKAGES = ("torch", "transformers", "accelerate", "lightning", "peft", "timm", "safetensors", "nbclient", "ipykernel")
NOTHING = "–"
PLANS = ("program", "kind", "bits", "state at the end", "clean / planned",
         *(f"{reason.replace('_', ' ')} / iteration" for reason in REASONS), "off the plan", "improvised", "from the arena",
         "height / bound", "CPU time")
MEMORY = ("program", *(f"{mode}, ever" for mode in ON_CUDA), "/ expandable", "state on the device", "clean / planned")
AGAIN = ("program", "bits", "planned from the start", "state at the end", "requests", "off the plan", "improvised",
         "reserved, of the first run's")


def state(report: dict) -> str:
    """How a process ended, in few words."""
    return report.get("state", "none") + (f": {report['reason']}" if report.get("reason") else "")


def states(outcome: Outcome) -> str:
    return " / ".join(map(state, outcome.reports)) or NOTHING


def bits(measured: Measured, mode: str) -> str:
    if mode not in measured.outcomes or "plain" not in measured.outcomes:
        return NOTHING
    if not measured.has("plain", mode):
        return "**failed**"
    return "same" if figures.same_bits(measured, mode) else "**other**"


def clean(outcome: Outcome) -> str:
    found = figures.late(outcome.left.get("looks", []))
    return f"{found.clean} / {found.planned}" + (f" ({found.clean / found.planned:.0%})" if found.planned else "")


def of_plan(outcome: Outcome) -> list[str]:
    """The cells that only a run with a plan has, CPU time left out."""
    late, whole = figures.late(outcome.left.get("looks", [])), figures.whole(outcome.reports)
    height = figures.height(outcome)
    return [states(outcome), clean(outcome),
            *(f"{late.misses[reason] / late.planned:.1f}" if late.planned else NOTHING for reason in REASONS),
            f"{figures.off_plan(outcome):.2%}", f"{whole.share(whole.improvised):.2%}",
            f"{figures.from_arena(outcome):.1%}",
            f"{height[0] / MIB:.1f} / {height[1] / MIB:.1f}" if height else NOTHING]


def plan_line(name: str, measured: Measured) -> tuple[str, ...]:
    known = measured.has("planned")
    cells = of_plan(measured.outcomes["planned"]) if known else [NOTHING] * (len(PLANS) - 4)
    cpu = paired.text(measured.cpu) if measured.cpu else NOTHING
    return name, ROWS[name].kind, bits(measured, "planned"), *cells, cpu


def memory_line(name: str, measured: Measured) -> tuple[str, ...]:
    cells = []
    for mode in ON_CUDA:
        left = measured.outcomes[mode].left if measured.has(mode) else {}
        cells.append(f"{left['reserved'] / MIB:,.0f}, {left['reserved_ever'] / MIB:,.0f}" if left else
                     "**failed**" if mode in measured.outcomes else NOTHING)
    if not figures.on_device(measured):
        return (name, *cells, *[NOTHING] * 3)
    ratio = figures.reserved(measured, "stowage") / figures.reserved(measured, "expandable")
    return (name, *cells, f"{ratio:.3f}", states(measured.outcomes["stowage"]), clean(measured.outcomes["stowage"]))


def again_line(name: str, measured: Measured) -> tuple[str, ...]:
    if not measured.has("again"):
        return (name, bits(measured, "again"), *[NOTHING] * (len(AGAIN) - 2))
    outcome = measured.outcomes["again"]
    whole = figures.whole(outcome.reports)
    from_start = " / ".join("yes" if report["planned_from_start"] else "no" for report in outcome.reports)
    ratio = figures.reserved_to_first_run(measured)
    return (name, bits(measured, "again"), from_start, states(outcome), f"{whole.requests:,}",
            f"{whole.missed:,} ({whole.share(whole.missed):.2%})", f"{whole.improvised:,}",
            f"{ratio:.3f}" if ratio else NOTHING)


def tables(rows: dict[str, Measured]) -> dict[str, str]:
    """By what they show; without the rows that were not measured for them."""
    found = {}
    for about, head, line, modes in (
            ("plans", PLANS, plan_line, ("planned",)), ("memory", MEMORY, memory_line, ON_CUDA),
            ("again", AGAIN, again_line, ("again",))):
        lines = [line(name, measured) for name, measured in rows.items() if set(modes) & set(measured.outcomes)]
        found[about] = table([head, *lines]) + "\n" if lines else ""
    return found


def text(origin: str, rows: dict[str, Measured]) -> str:
    shown = tables(rows)
    about = "\n".join(f"- `{file}`: {summary(file)}" for file in dict.fromkeys(ROWS[name].file for name in rows))
    outcomes = [outcome for measured in rows.values() for outcome in measured.outcomes.values()]
    said = sorted({line for outcome in outcomes for line in outcome.said})
    aborts = ", ".join(f"{mode} {sum(m.outcomes[mode].aborts for m in rows.values() if mode in m.outcomes)}"
                       for mode in ("plain", "planned", "again"))
    found = [name for name in PACKAGES if importlib.util.find_spec(name)]
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in found)
    return f"""# Programs of others

{origin}

With {versions}.

{bars.TEXT}

{bars.verdict(rows)}
## Plans

{shown['plans']}
On the CPU, with `STOWAGE=1`. *Bits*: losses and parameters against those without Stowage. *Clean / planned*: iterations that
follow a plan in the last two thirds of the run, and those without a miss; misses per iteration are of these, too. *Off
the plan*: misses of all requests since the switch. *Improvised*: requests that got room in the arena though the plan has
none for them. *From the arena*: share of the bytes, or of the requests where the report has no bytes. *Height / bound*: the
highest of the plans, and the highest lower bound, in MiB. *CPU time*: user and system time of the whole process with Stowage
to that without, in pairs.

## Memory

{shown['memory']}
On the simulated device of 80 GiB (`simulator/README.md`), in MiB: the most that `torch.cuda.max_memory_reserved()` was in
the last third of the iterations, and in the whole run.

## The second run

{shown['again']}
On the CPU: the second of two runs that share a folder of kept plans, all requests from the first one on.
*Reserved*: the most that arena and PyTorch held together after the switch, to that of the row's run without kept plans.

## The programs

{about}

At the exit of programs with several ranks PyTorch aborts now and then, with Stowage and without. Runs that were repeated for
that: {aborts}.

What Stowage wrote to standard error in all runs: {'; '.join(f'`{line}`' for line in said) or 'nothing'}.
"""
