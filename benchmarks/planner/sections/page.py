"""docs/results/placement.md as sections, so that some can be measured again while the others stay.

A section is a heading of the second level with its lines; its rows of the first table say how far bars and goals are
reached.
"""

import textwrap
from dataclasses import dataclass

INTRODUCTION = """# Placement: figures

Written by `tools/bench placement`, which runs `benchmarks/planner/placement.py --write`.

Through the command `stowage place` and, behind a stop or a change, through the
library. Seconds are of solving alone; every placement is validated within them. *CPU* is the time of all threads together:
where it is well below twice the seconds, on two threads, something else ran on the machine. What is marked as quoted was
measured on another day, on two cores.
"""

CONCLUSION = """
The problems are minimalloc's (Apache-2.0), idealloc's (MIT) and our own, in `benchmarks/instances/`.
`tools/bench placement -- --minimalloc CHECKOUT` runs minimalloc, too, built from a clone of
https://github.com/google/minimalloc; without it its figures are quoted. `--rows zoo,lowest` measures some of the sections
and keeps the others.
"""

HEAD = "| work | bar | goal | measured | reached |"


@dataclass
class Verdict:
    """A line of the first table; `bar` and `goal` as the issue words them."""
    work: str
    bar: str
    goal: str
    measured: str
    bar_reached: bool
    goal_reached: bool

    def line(self) -> str:
        reached = "goal" if self.goal_reached else "bar" if self.bar_reached else "neither"
        return f"| {self.work} | {self.bar} | {self.goal} | {self.measured} | {reached} |"


@dataclass
class Section:
    title: str
    verdicts: list[Verdict]
    lines: list[str]


def prose(*sentences: str) -> list[str]:
    """A paragraph within the line limit, and the empty line after it."""
    return [*textwrap.wrap(" ".join(sentences), 120), ""]


def read(text: str) -> tuple[dict[str, str], dict[str, str]]:
    """The lines of the first table by their work, and the sections by their title, of a page that was written."""
    head, *parts = text.split("\n## ")
    parts = [part.split("\nThe problems are minimalloc's")[0] for part in parts]
    rows = [line for line in head.splitlines() if line.startswith("| ") and line != HEAD]
    return ({row.split(" | ")[0].removeprefix("| "): row for row in rows},
            {part.partition("\n")[0]: part.partition("\n")[2].strip("\n") for part in parts})


def write(sections: list[Section], old: str, titles: list[str]) -> str:
    """The page with these sections new and the others as they are in `old`, in the order of `titles`."""
    rows, bodies = read(old) if HEAD in old else ({}, {})
    for section in sections:
        rows |= {verdict.work: verdict.line() for verdict in section.verdicts}
        bodies[section.title] = "\n".join(section.lines)
    blocks = [f"## {title}\n\n{bodies[title]}\n" for title in titles if title in bodies]
    return "\n".join([INTRODUCTION, HEAD, "|---|---|---|---|---|", *rows.values(), "", *blocks]) + CONCLUSION
