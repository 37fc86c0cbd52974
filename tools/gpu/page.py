"""The page of a run of tools/gpu_check: the JSON file's content for people. It computes nothing that is not in there."""

from benchmarks.pages import table

ORDER = ("Drop-in", "Memory and time", "Budgets", "Safety", "Op times", "Costs")
NONE = "–"
INTRODUCTIONS = {
    "Drop-in": """Each job runs plain and with Stowage, 12 iterations. *Bits*: losses, gradients, parameters, buffers,
optimizer and random state, compared bit by bit, with deterministic algorithms.""",
    "Memory and time": """Four processes of one job are alive together and take turns on the device, in an order that
changes. *Peak live*: the most that tensors held at one time in steady iterations. *Reserved*: the most that the allocator
held of the device in them. *Given back*: what the device's used memory fell by when the process ended, by the driver, a CUDA
context included. *Time / native*: median of the rounds, with quartiles. The hold-up by the switch is the longest of the
iteration that switches and the two behind it, less the median iteration.""",
    "Budgets": """*Peak*: the most that the plain job's tensors hold. A budget is a hard limit on all that is reserved,
from the first allocation on. *Predicted*: by the costs that the schedule was made with. *MONeT's*: compute overhead as its
repository publishes it, for its nearest budget.""",
    "Safety": """Each job leaves the same bits with Stowage as without it, with deterministic algorithms.""",
    "Op times": """What Stowage records through CUPTI beside what PyTorch's profiler sees of the same job, and whether a
profile is whole where both want CUPTI at one time.""",
    "Costs": "",
}


def shown(value, unit: str) -> str:
    if value is None:
        return NONE
    if unit == "bytes":
        return f"{value / (1 << 20):,.1f} MiB"
    text = f"{value:,.3f}" if abs(value) < 100 and not float(value).is_integer() else f"{value:,.0f}"
    return text if unit == "ratio" else f"{text} {unit}"


def goal_of(figure: dict) -> str:
    (kind, bound), = figure["goal"].items()
    return ("≤ " if kind == "at_most" else "≥ ") + shown(bound, figure["unit"])


def measured(figure: dict) -> str:
    text = shown(figure["value"], figure["unit"])
    if figure["spread"]:
        low, high = (shown(value, figure["unit"]) for value in figure["spread"])
        text += f" ({low}–{high})"
    return text


def goals(steps: list[dict]) -> list[str]:
    rows = [("figure", "baseline", "goal", "measured", "")]
    for step in steps:
        for figure in step["figures"]:
            if figure["goal"] is not None:
                base = figure["baseline"]
                rows.append((figure["what"], f"{base['what']}: {shown(base['value'], figure['unit'])}", goal_of(figure),
                             measured(figure), "held" if figure["held"] else "**missed**"))
    if len(rows) == 1:
        return []
    return ["## Goals", "", "A goal for a time is held if the quartiles of the paired rounds reach it.", "", table(rows), ""]


def machine(content: dict) -> list[str]:
    told, identity = content["machine"], content["identity"]
    device = content["steps"].get("load", {}).get("kept", {}).get("device", {})
    gpu = told.get("gpu", {})
    commit = told.get("commit") or "not known (no git here)"
    cupti = device.get("cupti")
    rows = [("", ""), ("GPU", identity["device"]), ("driver", identity.get("driver") or NONE),
            ("CUDA of torch", device.get("cuda", NONE)), ("torch", identity["torch"]), ("Python", identity["python"]),
            ("cuDNN", str(device.get("cudnn", NONE))), ("CUPTI API", NONE if cupti is None else str(cupti)),
            ("commit", commit + (", with changes" if told.get("changed") else "")), ("sources", identity["sources"]),
            ("processor", ", ".join([told.get("processor", NONE), f"{told.get('cores', NONE)} cores",
                                     f"{told.get('memory_gib', NONE)} GiB"])),
            ("compute-sanitizer", told.get("compute_sanitizer") or "not there"),
            ("other processes on the GPU", "; ".join(told.get("others_on_the_gpu", [])) or "none that nvidia-smi shows")]
    rows += [(f"nvidia-smi: {name}", value) for name, value in gpu.items() if name not in ("name", "driver_version")]
    return ["## The machine", "", table(rows), ""]


def failures(steps: list[tuple[str, dict]]) -> list[str]:
    """What failed, with the output that is kept of it."""
    lines = []
    for name, step in steps:
        for check in step["checks"]:
            if not check["passed"]:
                told = check["told"]
                block = ["", "```", told, "```"] if "\n" in told or len(told) > 300 else []
                lines += ["", f"- {name}: {check['what']}" + ("" if block else f": {told}"), *block]
        for failure in step["failures"]:
            lines += ["", f"- {name}: {failure['what']}", "", "```", failure["output"].strip().replace("```", "'''"), "```"]
    return ["## Failures", *lines, ""] if lines else []


def grouped(rows: list[list[str]]) -> list[list[str]]:
    """Rows of one first cell together, in order of the first of them; if numbers follow, the largest first."""
    order = {first: place for place, first in reversed(list(enumerate(row[0] for row in rows)))}
    numbers = all(row[1].isdecimal() for row in rows)
    return sorted(rows, key=lambda row: (order[row[0]], -int(row[1]) if numbers else 0))


def section(title: str, steps: list[tuple[str, dict]]) -> list[str]:
    """Tables of one title, of all steps, are one table."""
    tables: dict[str, list[list[str]]] = {}
    for _, step in steps:
        for one in step["tables"]:
            tables.setdefault(one["title"], [one["head"]]).extend(one["rows"])
    tables = {name: rows for name, rows in tables.items() if len(rows) > 1}
    told = [f"- {' '.join(note.split())}" for _, step in steps for note in [*step["left_out"], *step["notes"]]]
    if not tables and not told:
        return []
    lines = [f"## {title}", "", *([INTRODUCTIONS[title], ""] if INTRODUCTIONS.get(title) else [])]
    for name, (head, *rows) in tables.items():
        lines += [f"### {name}", "", table([tuple(row) for row in [head, *grouped(rows)]]), ""]
    return [*lines, *told, *([""] if told else [])]


def verdict(content: dict, not_run: dict[str, str]) -> list[str]:
    by: dict[str, list[str]] = {}
    for name, step in content["steps"].items():
        by.setdefault(step["status"], []).append(name)
    words = {"passed": "passed", "missed": "ran well and missed a goal", "failed": "FAILED",
             "cut": "were cut by the time limit", "left out": "could not be run here"}
    counts = [f"{len(by[status])} {text}" for status, text in words.items() if status in by]
    lines = ["## Result", "", f"Of {len(content['steps']) + len([n for n in not_run if n not in content['steps']])} steps "
             f"{', '.join(counts) or 'none was run'}; {len(not_run)} were not run."]
    for status in ("failed", "missed"):
        lines += [f"- {words[status]}: {', '.join(by[status])}"] if status in by else []
    return [*lines, ""]


def waiting(not_run: dict[str, str]) -> list[str]:
    """Steps of one reason together, in order of the first."""
    by: dict[str, list[str]] = {}
    for name, reason in not_run.items():
        by.setdefault(reason, []).append(name)
    return ["## Not run", "", *[f"- {', '.join(names)}: {reason}" for reason, names in by.items()], ""] if by else []


def page(content: dict, not_run: dict[str, str], command: str) -> str:
    """`not_run`: steps and why; `command`: what wrote this."""
    steps = list(content["steps"].items())
    identity, calls = content["identity"], content["calls"]
    lines = [f"# Stowage on {identity['device']}", "",
             f"Written by `{command}`, in {len(calls)} call{'s' * (len(calls) != 1)}, the last on {calls[-1]['date']}. "
             f"The same figures, each with its baseline, for programs: the JSON file beside this page.", ""]
    if identity["simulated"]:
        lines += ["**On the simulated device**: no values are computed, times are the host's, sizes are small; nothing here "
                  "is a figure of Stowage.", ""]
    lines += [*verdict(content, not_run), *goals([step for _, step in steps]), *failures(steps)]
    for title in ORDER:
        lines += section(title, [(name, step) for name, step in steps if step.get("section") == title])
    lines += waiting(not_run)
    times = [("step", "ended", "seconds", "estimate", "attempts")]
    times += [(name, step["status"], *(str(step.get(key, NONE)) for key in ("seconds", "estimate_s", "attempts")))
              for name, step in steps]
    return "\n".join([*lines, *machine(content), "## Steps", "", table(times)]) + "\n"
