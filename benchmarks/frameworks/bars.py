"""What is asked of each kind of row, and which rows miss it."""

from collections.abc import Iterator

from benchmarks.frameworks.figures import Measured, clean_share, from_arena, off_plan, on_device, reserved, same_bits
from benchmarks.frameworks.rows import DYNAMIC, ROWS, SOUND, STEADY
from benchmarks.frameworks.run import BUDGET, ON_CUDA

CLEAN = 0.95  # of the planned iterations, at least
OFF_PLAN = 0.01  # of the requests, at most
FROM_ARENA = 0.80  # of a dynamic row's bytes, at least
CPU = 1.02  # times that without Stowage, at most
MOST, SLACK = 1.01, 4 << 20  # a sound row reserves more than the better allocator by both of these: too much

TEXT = f"""Asked of every row: bits as without Stowage, and at most {CPU} times the CPU time.

- Of steady and dynamic rows: Stowage is not off at the end.
- Of *steady* rows: a second run is planned from its first allocation on.
- Of *steady* rows: {CLEAN:.0%} of the planned iterations without a miss, at most {OFF_PLAN:.0%} of the requests off the
  plan, no more reserved than under either of PyTorch's settings.
- Of *dynamic* rows: {FROM_ARENA:.0%} of the bytes from the arena, no more reserved than with expandable segments.
- Of *sound* rows: no more reserved than {MOST} times the better of the two, or two pages above it."""


def of_bits(measured: Measured) -> Iterator[str]:
    for mode, outcome in measured.outcomes.items():
        if outcome.failed and not (mode.startswith(BUDGET) and outcome.least_budget):
            yield f"{mode} failed ({outcome.status})"
    for mode in measured.outcomes:
        if mode not in ON_CUDA and measured.has("plain", mode) and not same_bits(measured, mode):
            yield f"other bits ({mode})"


def of_memory(measured: Measured, kind: str) -> Iterator[str]:
    if not on_device(measured):
        return
    own, native, expandable = (reserved(measured, mode) for mode in ("stowage", "native", "expandable"))
    better = min(native, expandable)
    if kind == SOUND and own > MOST * better and own > better + SLACK:
        yield f"reserved {own / better:.3f} of the better"
    if kind != SOUND and own > expandable:
        yield f"reserved {own / expandable:.3f} of expandable"
    if kind == STEADY and own > native:
        yield f"reserved {own / native:.3f} of native"


def of_plans(measured: Measured, kind: str) -> Iterator[str]:
    if not measured.has("planned"):
        return
    outcome = measured.outcomes["planned"]
    if kind != SOUND and any(report["state"] == "off" for report in outcome.reports):
        yield "off at the end"
    if kind == STEADY and clean_share(outcome) < CLEAN:
        yield f"clean {clean_share(outcome):.1%}"
    if kind == STEADY and off_plan(outcome) > OFF_PLAN:
        yield f"off the plan {off_plan(outcome):.1%}"
    if kind == DYNAMIC and from_arena(outcome) < FROM_ARENA:
        yield f"from the arena {from_arena(outcome):.1%}"


def of_second_run(measured: Measured, kind: str) -> Iterator[str]:
    if kind == STEADY and measured.has("again"):
        reports = measured.outcomes["again"].reports
        if not all(report["planned_from_start"] for report in reports):
            yield "second run recorded again"
        if any(report["state"] == "off" for report in reports):
            yield "second run off at the end"


def of_time(measured: Measured) -> Iterator[str]:
    if measured.cpu and measured.cpu["median"] > CPU:
        yield f"CPU time {measured.cpu['median']:.3f}"


def faults(name: str, measured: Measured) -> list[str]:
    kind = ROWS[name].kind
    return [*of_bits(measured), *of_plans(measured, kind), *of_second_run(measured, kind), *of_memory(measured, kind),
            *of_time(measured)]


def missed(rows: dict[str, Measured]) -> dict[str, list[str]]:
    """By name, rows that miss something only."""
    return {name: found for name, measured in rows.items() if (found := faults(name, measured))}


def verdict(rows: dict[str, Measured]) -> str:
    found = missed(rows)
    if not found:
        return f"All of {len(rows)} rows reach their bars.\n"
    lines = "".join(f"- {name}: {', '.join(texts)}\n" for name, texts in found.items())
    return f"{len(found)} of {len(rows)} rows miss their bars:\n\n{lines}"
