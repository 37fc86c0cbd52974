"""What the Python benchmarks share: paired repeats reduced to a ratio, and the page that a benchmark writes."""

import os
import pathlib
import platform
import statistics

import torch

ROOT = pathlib.Path(__file__).resolve().parents[1]


def ratio(ours: list[float], baseline: list[float]) -> dict[str, float]:
    """Median, quartiles and count of ours/baseline over the pairs. Requires: as many of one as of the other."""
    ratios = sorted(a / b for a, b in zip(ours, baseline, strict=True))
    low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    return {"median": middle, "low": low, "high": high, "pairs": len(ratios)}


def text(found: dict[str, float]) -> str:
    return f"{found['median']:.3f} ({found['low']:.3f}–{found['high']:.3f}, {found['pairs']} pairs)"


def machine() -> str:
    """The machine in words, for the page; ratios travel to another one, absolute times do not."""
    model = platform.machine()
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return f"{model}, {len(os.sched_getaffinity(0))} cores, torch {torch.__version__}"


def table(rows: list[tuple[str, ...]]) -> str:
    """Markdown; the first row is the head."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def write_page(name: str, page: str) -> None:
    path = ROOT / "docs" / "results" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(page)
    print(f"written: {path.relative_to(ROOT)}")


def write_part(name: str, heading: str, part: str) -> None:
    """Puts `part` where the page has a section whose heading begins with `heading`, or at its end."""
    path = ROOT / "docs" / "results" / name
    sections = path.read_text().split("\n## ") if path.exists() else ["# " + path.stem.capitalize() + "\n"]
    part = part.removeprefix("## ").rstrip() + "\n"
    at = next((i for i, section in enumerate(sections) if section.startswith(heading)), len(sections))
    sections[at:at + 1] = [part]
    write_page(name, "\n## ".join(section.rstrip() + "\n" for section in sections))
