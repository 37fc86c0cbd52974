"""What each technique is worth: all are used but one, or one more.

Limits are counts of work, so that what is reached is the same on every machine; the large problems have a time.
"""

import re
import statistics
import subprocess

from benchmarks.planner.sections.page import Section, prose
from benchmarks.planner.sections.runs import BUILD, CAPACITY, INSTANCES, Run, Settings, challenging, gapped, place, ratio

TITLE = "Ablation"


def switches() -> list[tuple[str, list[str]]]:
    """Label and options of each run: nothing left out, then every technique that the program knows."""
    found = [("nothing", [])]
    for option, label in (("--without", "without {}"), ("--with", "with {}")):
        program = [BUILD / "replay" / "stowage-replay", "place", "none", option, "?"]
        said = subprocess.run(program, capture_output=True, text=True).stderr
        names = re.search(r"\{([\w,-]+)\}", said)
        if names is None:
            raise SystemExit(f"stowage place did not name its techniques: {said}")
        found += [(label.format(name), [option, name]) for name in names[1].split(",")]
    return found


def capacity_runs(settings: Settings, names: str, seeds: int, options: list[str]) -> list[Run]:
    limits = ("--capacity", str(CAPACITY), "--work-limit", "500000000", "--time-limit", "60")
    return [place(settings, challenging(name), *limits, "--seed", str(seed), *options)
            for name in names for seed in range(1, seeds + 1)]


def ablation(settings: Settings) -> Section:
    work = 10**8 if settings.quick else 10**9
    names, seeds = ("A", 1) if settings.quick else ("ADEIK", 3)
    limits = ("--work-limit", str(work), "--time-limit", "60")
    problems = {"D": (challenging("D"), limits), "D with gaps": (gapped(settings), limits),
                "ResNet-50": (INSTANCES / "somas_resnet50.csv", limits),
                "Pangu-2.6B, 2 s": (INSTANCES / "somas_pangu_2_6b.csv", ("--time-limit", "2")),
                "GPT-2 in 12, 2 s": (INSTANCES / "zoo" / "gpt2_x12.stowtrace", ("--time-limit", "2"))}
    if settings.quick:
        problems = {"D with gaps": problems["D with gaps"]}
    lines = ["| | solved at capacity | work, median of all, M | CPU of these, s | " + " | ".join(problems) + " |",
             "|---|---|---|---|" + "---|" * len(problems)]
    for label, options in switches()[:3 if settings.quick else None]:
        runs = capacity_runs(settings, names, seeds, options)
        heights = [place(settings, path, *limited, *options) for path, limited in problems.values()]
        solved, middle = sum(run["fits"] for run in runs), statistics.median(run["work"] for run in runs) / 1e6
        cells = [label, f"{solved} of {len(runs)}", f"{middle:.1f}", f"{sum(run['cpu_seconds'] for run in runs):.2f}",
                 *(f"{ratio(run):.5f}{'*' if run and run['proved'] else ''}" for run in heights)]
        lines.append(f"| {' | '.join(cells)} |")
    note = prose(
        "Each technique left out in turn, or brought in where it is not used by default.",
        f"First {', '.join(names)} at capacity 1,048,576, {seeds} seeds, 0.5 billion steps each; then the height ÷ bound "
        f"that {work / 1e9:g} billion steps reach, or 2 s where it says so (* proved). *D with gaps*: each long-lived "
        "buffer of D needs nothing in the middle third of its life. From `restarts` to `twins`, and `releases`, they are "
        "techniques of exact search.")
    return Section(TITLE, [], [*note, *lines])
