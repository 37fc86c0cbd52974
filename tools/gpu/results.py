"""What a step of tools/gpu_check found, as plain data: it goes into the JSON file as it is (docs/gpu_check.md).

A figure always has its baseline, measured in the same step: another number without one tells nothing on another machine.
A goal that was missed is no failure of the job, and neither is hidden: both end the suite with status 1.
"""

from dataclasses import asdict, dataclass, field

MOST_OUTPUT = 6000  # characters of a failed job's output, of its beginning and its end


def shortened(text: str, most: int = MOST_OUTPUT) -> str:
    """The beginning, where what was run stands, and the end, where the error does."""
    if len(text) <= most:
        return text
    head = most // 4
    return f"{text[:head]}\n[… {len(text) - most} characters …]\n{text[len(text) - (most - head):]}"


def held(value: float | None, goal: dict | None, spread: tuple[float, float] | None) -> bool | None:
    """Whether a goal is met, within the noise that `spread` shows; None where nothing is to be judged."""
    if value is None or goal is None:
        return None
    low, high = spread or (value, value)
    return min(low, value) <= goal["at_most"] if "at_most" in goal else max(high, value) >= goal["at_least"]


@dataclass
class Result:
    """Of one step. `left_out`: what of it could not be run here, and why. `cut`: time ran out within, and the step goes on
    another time from `kept`."""

    tables: list[dict] = field(default_factory=list)  # title, head, rows: cells of text
    figures: list[dict] = field(default_factory=list)
    checks: list[dict] = field(default_factory=list)  # what, passed, told
    failures: list[dict] = field(default_factory=list)  # what, output
    left_out: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    cut: bool = False
    kept: dict = field(default_factory=dict)

    def table(self, title: str, head: tuple[str, ...]) -> dict:
        """The table of that title, made where it is not there: tables stand in the order in which they were made."""
        found = next((table for table in self.tables if table["title"] == title), None)
        if found is None:
            found = {"title": title, "head": list(head), "rows": []}
            self.tables.append(found)
        return found

    def row(self, title: str, head: tuple[str, ...], *cells: object) -> None:
        """Adds a row to the table of that title. Requires: as many cells as the head has."""
        if len(cells) != len(head):
            raise ValueError(f"{len(cells)} cells for the columns {head}")
        self.table(title, head)["rows"].append([str(cell) for cell in cells])

    def figure(self, what: str, value: float | None, unit: str, baseline: tuple[str, float | None], *,
               goal: dict | None = None, spread: tuple[float, float] | None = None) -> dict:
        """`baseline`: what the value is to be read against, and its own value in the same unit."""
        name, number = baseline
        self.figures.append({"what": what, "value": value, "unit": unit, "baseline": {"what": name, "value": number},
                             "spread": list(spread) if spread else None, "goal": goal,
                             "held": held(value, goal, spread)})
        return self.figures[-1]

    def check(self, what: str, passed: bool, told: str = "") -> bool:
        self.checks.append({"what": what, "passed": bool(passed), "told": told})
        return passed

    def fail(self, what: str, output: str = "") -> None:
        self.failures.append({"what": what, "output": shortened(output)})

    @property
    def status(self) -> str:
        if self.cut:
            return "cut"
        if self.failures or not all(check["passed"] for check in self.checks):
            return "failed"
        if any(figure["held"] is False for figure in self.figures):
            return "missed"
        return "passed" if any(table["rows"] for table in self.tables) or self.figures or self.checks else "left out"

    def plain(self) -> dict:
        return {"status": self.status} | asdict(self)
